#include "graph/moves/move_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/moves/plan_exchange.h"

namespace partita {
namespace {

OpDefinition Move(const std::string& name) {
  OpDefinition op;
  op.name = name;
  op.inputs = {{"x"}};
  op.attributes = {{"axes", std::string(), true}};
  op.user = false;
  op.move = true;
  op.shape = [](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    std::vector<TensorType> types;
    for (const TensorType* input : node.inputs) types.push_back(*input);
    return types;
  };
  op.rules = [](const NodeView&) { return std::vector<Rule>(); };
  op.flops = [](const NodeView&) { return 0.0; };
  return op;
}

OpDefinition Exchange(const std::string& name) {
  OpDefinition op = Move(name);
  op.attributes.push_back({"mode", std::string(Name(ExchangeMode::kDirect)), false});
  op.attributes.push_back({"chunks", int64_t{1}, false});
  return op;
}

}  // namespace

std::vector<OpDefinition> MoveDefinitions() {
  std::vector<OpDefinition> moves;
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "sum_reduce", "slice_move",
                           "drop", "zero_extend", "halo_exchange", "halo_exchange_adjoint"}) {
    moves.push_back(Move(name));
  }
  for (const char* name : {"send", "gather", "scatter", "repartition", kReshard}) moves.push_back(Exchange(name));
  std::erase_if(moves.back().attributes, [](const AttributeDefinition& attribute) { return attribute.name == "axes"; });
  moves[0].variadic = true;
  moves[0].in_place = {{0, 0}};
  return moves;
}

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
  if (move.op->name == kReshard) return {};
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
  for (int axis : axes) text += fmt::format("{}{}", text.empty() ? "" : ",", mesh.axes[axis].name);
  return text;
}

}  // namespace partita
