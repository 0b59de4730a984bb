#include "graph/ir/gradient_moves.h"

#include <algorithm>

#include "graph/ir/op_definition.h"

namespace partita {

std::vector<bool> GradientMoves(const Graph& graph) {
  std::vector<bool> waited_for(graph.values().size(), false);  // read before the update
  std::vector<bool> gradients(graph.nodes().size(), false);
  for (auto id = static_cast<NodeId>(graph.nodes().size()); id-- > 0;) {
    const Node& node = graph.node(id);
    const bool late =
        node.phase == Phase::kUpdate ||
        (node.op->move && std::ranges::none_of(node.outputs, [&](ValueId output) { return waited_for[output]; }));
    for (ValueId input : node.inputs) {
      if (input != kNoValue && !late) waited_for[input] = true;
    }
    gradients[id] = late && node.phase == Phase::kBackward;
  }
  return gradients;
}

}  // namespace partita
