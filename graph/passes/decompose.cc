#include "graph/passes/decompose.h"

#include <algorithm>

#include "graph/derive/partition.h"
#include "graph/ir/node_view.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// True if the strategy splits the node over some axis in the way of its decomposition.
bool NamesPieces(const Strategy& strategy, const StrategyIndex& index, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.op->decomposition) return false;
  const std::string& split = node.op->decomposition->split;
  std::vector<Rule> rules = RulesOf(graph, node);
  rules.push_back({split, {}, {}});
  const NodeConfig said = ConfigOf(strategy, index, graph.name(id), rules);
  return std::ranges::any_of(said.axes,
                             [&](const std::optional<AxisConfig>& config) { return config && config->split == split; });
}

class Decomposer {
 public:
  Decomposer(const Graph& graph, const OpRegistry& registry) : registry_(registry), rewriter_(graph) {}

  absl::Status TakeApart(NodeId id) {
    Node node = rewriter_.from().node(id);
    const Decomposition& decomposition = *node.op->decomposition;
    for (ValueId& input : node.inputs) input = rewriter_.At(input);
    std::vector<ValueId> pieces;
    for (const Decomposition::Piece& piece : decomposition.pieces) {
      std::vector<ValueId> inputs = {node.inputs[0]};
      inputs.insert(inputs.end(), pieces.begin(), pieces.end());
      ASSIGN_OR_RETURN(const ValueId value,
                       Add(piece.op, std::move(inputs), rewriter_.from().name(id) + "@" + piece.name));
      pieces.push_back(value);
    }
    node.op = Find(decomposition.op);
    node.outputs.clear();
    node.inputs.insert(node.inputs.end(), pieces.begin(), pieces.end());
    rewriter_.Replace(id, std::move(node));
    return absl::OkStatus();
  }

  Rewriter& rewriter() { return rewriter_; }

 private:
  const OpDefinition* Find(const std::string& op_name) const {
    const OpDefinition* const op = registry_.Find(op_name);
    CHECK(op != nullptr);
    return op;
  }

  absl::StatusOr<ValueId> Add(const std::string& op_name, std::vector<ValueId> inputs, const std::string& name) {
    Node node{Find(op_name), {}, std::move(inputs), {}, Phase::kForward};
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(rewriter_.graph(), node));
    const NodeId id = rewriter_.graph().AddNode(std::move(node), {{name, types[0], {}, -1}});
    return rewriter_.graph().node(id).outputs[0];
  }

  const OpRegistry& registry_;
  Rewriter rewriter_;
};

}  // namespace

absl::StatusOr<Graph> Decompose(Graph graph, const Strategy& strategy, const OpRegistry& registry) {
  const StrategyIndex index(strategy);
  std::vector<bool> apart(graph.nodes().size());
  for (NodeId id = 0; id < static_cast<NodeId>(apart.size()); ++id) apart[id] = NamesPieces(strategy, index, graph, id);
  if (std::find(apart.begin(), apart.end(), true) == apart.end()) return graph;
  Decomposer decomposer(graph, registry);
  for (NodeId id = 0; id < static_cast<NodeId>(apart.size()); ++id) {
    if (apart[id]) {
      RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", graph.name(id)), decomposer.TakeApart(id)));
    } else {
      decomposer.rewriter().Copy(id);
    }
  }
  return decomposer.rewriter().Finish();
}

}  // namespace partita
