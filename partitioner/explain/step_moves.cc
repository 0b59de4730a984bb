#include "partitioner/explain/step_moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// What the compiler adds to a name of the user begins with '@'.
std::vector<std::string> ServedNodes(const Graph& graph, const Node& move) {
  std::vector<std::string> served;
  for (const ValueId input : move.inputs) {
    if (input == kNoValue) continue;
    const std::string& name = graph.value(input).name;
    std::string user = UserNameOf(name);
    if (user.empty()) user = name;  // a scalar of the step
    if (std::ranges::find(served, user) == served.end()) served.push_back(std::move(user));
  }
  return served;
}

}  // namespace

std::vector<StepMove> MovesOf(const Program& program) {
  const Graph& graph = program.graph(kTrainEntry);
  std::vector<StepMove> moves;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (!node.op->move || !Communicates(graph, node)) continue;
    const GroupKey key = KeyOf(graph, node);
    StepMove& move = moves.emplace_back(StepMove{
        id, graph.name(id), node.op->name, node.phase, AlongOf(key, program.meshes), ServedNodes(graph, node), {}});
    for (const CommunicationGroup& group : program.groups) {
      if (group.key == key) move.bytes += BytesOfNode(graph, node, group.ranks);
    }
  }
  return moves;
}

std::string AlongOf(const GroupKey& key, const std::vector<Mesh>& meshes) {
  return fmt::format("{}", fmt::join(NamesOf(key, meshes), key.between() ? "~" : "+"));
}

std::string ServedBy(const StepMove& move) {
  if (move.serves.empty()) return "";
  if (move.serves.size() == 1) return move.serves[0];
  return fmt::format("{} and {} more", move.serves[0], move.serves.size() - 1);
}

}  // namespace partita
