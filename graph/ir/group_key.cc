#include "graph/ir/group_key.h"

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"

namespace partita {

GroupKey KeyOf(const Graph& graph, const Node& move) {
  const int from = graph.layout(move.inputs[0]).mesh, to = graph.layout(move.outputs[0]).mesh;
  return {std::min(from, to), std::max(from, to), MoveAxes(graph, move)};
}

bool IsExchange(const OpDefinition& op) { return op.move && op.FindAttribute("mode") != nullptr; }

std::vector<std::vector<int>> GroupsOf(const GroupKey& key, const std::vector<Mesh>& meshes) {
  const Mesh& mesh = meshes[key.mesh];
  if (key.between()) return {RanksOfBoth(mesh, meshes[key.other])};
  std::vector<std::vector<int>> groups;
  for (int rank : mesh.Ranks()) {
    if (mesh.Leads(rank, key.axes)) groups.push_back(mesh.Group(rank, key.axes));
  }
  return groups;
}

std::vector<std::string> NamesOf(const GroupKey& key, const std::vector<Mesh>& meshes) {
  std::vector<std::string> names;
  const auto mesh_name = [&](int mesh) { return mesh == 0 ? kFirstMesh : meshes[mesh].name; };
  if (key.between()) return {mesh_name(key.mesh), mesh_name(key.other)};
  for (int axis : key.axes) names.push_back(meshes[key.mesh].axes[axis].name);
  return names;
}

std::vector<int> MoveAxes(const Graph& graph, const Node& move) {
  if (move.op->move == MoveKind::kReshard) return {};
  const Mesh& mesh = graph.mesh(move.inputs[0]);
  const std::string& names = move.attributes.String("axes");
  std::vector<int> axes;
  for (size_t begin = 0; begin <= names.size();) {
    size_t end = names.find(',', begin);
    if (end == std::string::npos) end = names.size();
    const int axis = mesh.AxisIndex(names.substr(begin, end - begin));
    CHECK(axis >= 0);
    axes.push_back(axis);
    begin = end + 1;
  }
  return axes;
}

std::string AxesName(const std::vector<int>& axes, const Mesh& mesh) {
  std::string text;
  for (const int axis : axes) {
    if (!text.empty()) text += ',';
    text += mesh.axes[axis].name;
  }
  return text;
}

}  // namespace partita
