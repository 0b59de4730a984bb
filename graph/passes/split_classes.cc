#include "graph/passes/split_classes.h"

#include <algorithm>

#include "graph/node_view.h"
#include "graph/partition.h"
#include "graph/passes/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kLoss[] = "softmax_cross_entropy", kLogSoftmax[] = "log_softmax";

// True if the strategy splits the node's classes over some axis.
bool NamesClasses(const Strategy& strategy, const StrategyIndex& index, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!HasClasses(*node.op)) return false;
  std::vector<Rule> rules = RulesOf(graph, node);
  rules.push_back({kClassSplit, {}, {}});
  const NodeConfig said = ConfigOf(strategy, index, graph.name(id), rules);
  return std::any_of(said.axes.begin(), said.axes.end(),
                     [](const std::optional<AxisConfig>& config) { return config && config->split == kClassSplit; });
}

class Splitter {
 public:
  Splitter(const Graph& graph, const OpRegistry& registry) : registry_(registry), rewriter_(graph) {}

  absl::Status Split(NodeId id) {
    const Graph& from = rewriter_.from();
    const Node& node = from.node(id);
    const std::string& name = from.name(id);
    const ValueId x = rewriter_.At(node.inputs[0]);
    ASSIGN_OR_RETURN(const ValueId maximum, Add("row_maximum", {x}, name + "@maximum"));
    ASSIGN_OR_RETURN(const ValueId sum, Add("row_exponentials", {x, maximum}, name + "@exponentials"));
    const bool loss = node.op->name == kLoss;
    const OpDefinition* const last = registry_.Find(loss ? "cross_entropy" : "log_softmax_normalize");
    CHECK(last != nullptr);
    Node replacement = node;
    replacement.op = last;
    replacement.outputs.clear();
    for (ValueId& input : replacement.inputs) input = rewriter_.At(input);
    replacement.inputs.insert(replacement.inputs.end(), {maximum, sum});
    rewriter_.Replace(id, std::move(replacement));
    return absl::OkStatus();
  }

  Rewriter& rewriter() { return rewriter_; }

 private:
  absl::StatusOr<ValueId> Add(const std::string& op_name, std::vector<ValueId> inputs, const std::string& name) {
    const OpDefinition* const op = registry_.Find(op_name);
    CHECK(op != nullptr);
    Node node{op, {}, std::move(inputs), {}, Phase::kForward};
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(rewriter_.graph(), node));
    const NodeId id = rewriter_.graph().AddNode(std::move(node), {{name, types[0], {}, -1}});
    return rewriter_.graph().node(id).outputs[0];
  }

  const OpRegistry& registry_;
  Rewriter rewriter_;
};

}  // namespace

bool HasClasses(const OpDefinition& op) { return op.name == kLoss || op.name == kLogSoftmax; }

absl::StatusOr<Graph> SplitClasses(Graph graph, const Strategy& strategy, const OpRegistry& registry) {
  const StrategyIndex index(strategy);
  std::vector<bool> split(graph.nodes().size());
  for (NodeId id = 0; id < static_cast<NodeId>(split.size()); ++id)
    split[id] = NamesClasses(strategy, index, graph, id);
  if (std::find(split.begin(), split.end(), true) == split.end()) return graph;
  Splitter splitter(graph, registry);
  for (NodeId id = 0; id < static_cast<NodeId>(split.size()); ++id) {
    if (split[id]) {
      RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", graph.name(id)), splitter.Split(id)));
    } else {
      splitter.rewriter().Copy(id);
    }
  }
  return splitter.rewriter().Finish();
}

}  // namespace partita
