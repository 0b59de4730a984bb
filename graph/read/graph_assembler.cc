#include "graph/read/graph_assembler.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "graph/ir/node_view.h"
#include "graph/read/verify_model.h"
#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<std::string> UserOps(const OpRegistry& registry) {
  std::vector<std::string> names;
  for (const std::string& name : registry.Names()) {
    if (registry.Find(name)->user) names.push_back(name);
  }
  return names;
}

std::vector<std::string> ValueNames(const Graph& graph) {
  constexpr size_t kCompared = 4096;  // enough to catch a slip of the pen, little enough for any graph
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.values().size() && i < kCompared; ++i) names.push_back(graph.value(i).name);
  return names;
}

absl::StatusOr<ValueId> FindValue(const Graph& graph, const std::string& name) {
  const ValueId value = graph.Find(name);
  if (value != kNoValue) return value;
  return InvalidArgument("no node is called {}{}", Quoted(name), Suggestion(name, ValueNames(graph)));
}

// What other systems call an op, where no edit distance leads to our name.
struct ForeignName {
  const char* name;
  const char* ours;
};
constexpr ForeignName kForeignNames[] = {
    {"linear", "matmul, then bias"},
    {"dense", "matmul, then bias"},
    {"fully_connected", "matmul, then bias"},
    {"fc", "matmul, then bias"},
    {"gemm", "matmul, then bias"},
    {"addmm", "matmul, then bias"},
    {"mm", "matmul"},
    {"bmm", "batch_matmul"},
    {"baddbmm", "batch_matmul, then add"},
    {"einsum", "transpose, then matmul or batch_matmul"},
    {"flatten", "reshape"},
    {"view", "reshape"},
    {"cat", "concat"},
    {"concatenate", "concat"},
    {"permute", "transpose"},
    {"avg_pool", "average_pool"},
    {"avg_pool2d", "average_pool"},
    {"adaptive_avg_pool2d", "global_average_pool"},
    {"gap", "global_average_pool"},
    {"swish", "silu"},
    {"hardswish", "hard_swish"},
    {"hardsigmoid", "hard_sigmoid"},
    {"hardtanh", "maximum with a constant, and scale by -1 for the upper bound; from 0 to 6 it is relu6"},
    {"multiply", "mul"},
    {"subtract", "sub"},
    {"divide", "div"},
    {"reduce_sum", "sum"},
    {"reduce_mean", "mean"},
    {"broadcast", "expand"},
    {"broadcast_to", "expand"},
    {"mse", "mean_squared_error"},
    {"mse_loss", "mean_squared_error"},
    {"nll_loss", "log_softmax and softmax_cross_entropy, which takes logits"},
    {"cross_entropy", "softmax_cross_entropy"},
    {"cross_entropy_loss", "softmax_cross_entropy"},
    {"gather", "embedding"},
    {"lookup", "embedding"},
    {"batchnorm", "batch_norm"},
    {"layernorm", "layer_norm"},
    {"group_norm", "reshape, mean, expand, sub, square, sqrt and div"},
    {"groupnorm", "reshape, mean, expand, sub, square, sqrt and div"},
    {"instance_norm", "mean, expand, sub, square, sqrt and div"},
    {"leaky_relu", "maximum, of x and scale of x"},
    {"leakyrelu", "maximum, of x and scale of x"},
    {"prelu", "relu of x, minus relu of -x times the slopes"},
    {"abs", "maximum, of x and scale of x by -1"},
    {"neg", "scale by -1"},
    {"negative", "scale by -1"},
    {"minimum", "maximum of both after scale by -1, then scale by -1"},
    {"clamp", "maximum with a constant, and scale by -1 for the upper bound"},
    {"clip", "maximum with a constant, and scale by -1 for the upper bound"},
    {"where", "masked of x and c, plus masked of y and 1 - c"},
    {"masked_fill", "masked of x and 1 - c, plus scale of c; c is 0 or 1"},
    {"pad", "padding of conv2d and the pools; elsewhere concat with a constant"},
    {"zero_pad2d", "padding of conv2d and the pools; elsewhere concat with a constant"},
    {"depthwise_conv2d", "conv2d with as many groups as channels"},
    {"conv", "conv2d"},
    {"convolution", "conv2d"},
    {"conv_transpose2d", "conv2d of pixels that a matmul with a constant has spread"},
    {"bias_add", "bias"},
    {"add_bias", "bias"},
    {"softplus", "relu of x, plus log1p of exp of -|x|"},
};

std::string OpSuggestion(const std::string& name, const OpRegistry& registry) {
  const std::string lower = absl::AsciiStrToLower(name);
  const auto foreign = std::ranges::find(kForeignNames, lower, &ForeignName::name);
  if (foreign != std::end(kForeignNames)) return fmt::format("; here it is {}", foreign->ours);
  return Suggestion(name, UserOps(registry));
}

// Trailing optional inputs may simply be left out.
void PadInputs(const OpDefinition& op, std::vector<ValueId>& inputs) {
  if (!op.variadic && inputs.size() < op.inputs.size()) inputs.resize(op.inputs.size(), kNoValue);
}

}  // namespace

absl::StatusOr<const OpDefinition*> FindUserOp(const OpRegistry& registry, const std::string& name) {
  const OpDefinition* op = registry.Find(name);
  if (op != nullptr && op->user) return op;
  return InvalidArgument("op {} {}{}", Quoted(name), op == nullptr ? "is unknown" : "is not for users' graphs",
                         OpSuggestion(name, registry));
}

absl::StatusOr<Node> GraphAssembler::Resolve(const NodeDescription& node) const {
  Node made;
  ASSIGN_OR_RETURN(made.op, FindUserOp(registry_, node.op));
  ASSIGN_OR_RETURN(made.attributes, CompleteAttributes(*made.op, node.attributes));
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      made.inputs.push_back(kNoValue);
      continue;
    }
    ASSIGN_OR_RETURN(const ValueId input, FindValue(graph_, name));
    made.inputs.push_back(input);
  }
  PadInputs(*made.op, made.inputs);
  return made;
}

absl::StatusOr<ValueId> GraphAssembler::Add(const NodeDescription& node) {
  RETURN_IF_ERROR(CheckNodeName(node.name));
  const std::string context = fmt::format("node {}", Quoted(node.name));
  if (graph_.Find(node.name) != kNoValue) {
    return InvalidArgument("{}: the name is taken twice; names are unique", context);
  }
  absl::StatusOr<Node> made = Resolve(node);
  if (!made.ok()) return WithContext(context, made.status());
  const absl::StatusOr<std::vector<TensorType>> types = InferTypes(graph_, *made);
  if (!types.ok()) return WithContext(fmt::format("{} ({})", context, made->op->name), types.status());
  CHECK(types->size() == 1);  // ops with more outputs are internal, so a node and its value share a name
  const bool is_state = made->op->is_state();
  const NodeId id = graph_.AddNode(*std::move(made), {Value{node.name, (*types)[0], {}, -1}});
  const ValueId value = graph_.node(id).outputs[0];
  if (is_state) graph_.AddState({value, kNoValue});
  return value;
}

absl::StatusOr<Graph> GraphAssembler::Finish(const std::string& loss, const std::vector<std::string>& metrics,
                                             const std::vector<FurtherLossDescription>& further_losses) {
  const absl::StatusOr<ValueId> loss_value = FindValue(graph_, loss);
  if (!loss_value.ok()) return WithContext("the loss", loss_value.status());
  graph_.loss = *loss_value;
  for (const FurtherLossDescription& further : further_losses) {
    const absl::StatusOr<ValueId> value = FindValue(graph_, further.value);
    if (!value.ok()) return WithContext("a further loss", value.status());
    graph_.further_losses.push_back({*value, further.weight, further.training_only});
  }
  for (const std::string& metric : metrics) {
    const absl::StatusOr<ValueId> value = FindValue(graph_, metric);
    if (!value.ok()) return WithContext("a metric", value.status());
    graph_.metrics.push_back(*value);
  }
  RETURN_IF_ERROR(VerifyForward(graph_));
  return std::move(graph_);
}

absl::StatusOr<Graph> BuildGraph(const std::vector<NodeDescription>& nodes, const std::string& loss,
                                 const std::vector<std::string>& metrics, const OpRegistry& registry,
                                 const std::vector<FurtherLossDescription>& further_losses) {
  if (nodes.empty())
    return InvalidArgument("the graph has no nodes; at least an input, a parameter and a loss are needed");
  if (static_cast<int64_t>(nodes.size()) > kMostNodes) {
    return InvalidArgument("the graph has {} nodes; at most {} are allowed", nodes.size(), kMostNodes);
  }
  ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(nodes));
  GraphAssembler assembler(registry);
  for (int position : order) RETURN_IF_ERROR(assembler.Add(nodes[position]).status());
  return assembler.Finish(loss, metrics, further_losses);
}

std::vector<NodeDescription> Describe(const Graph& graph) {
  std::vector<NodeDescription> nodes;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    NodeDescription described{graph.name(id), node.op->name, {}, {}};
    for (ValueId input : node.inputs) described.inputs.push_back(input == kNoValue ? "" : graph.value(input).name);
    while (!described.inputs.empty() && described.inputs.back().empty()) described.inputs.pop_back();
    for (const auto& [name, value] : node.attributes.entries()) {
      const AttributeDefinition* definition = node.op->FindAttribute(name);
      if (!definition->has_default() || value != definition->type_and_default) described.attributes.Set(name, value);
    }
    nodes.push_back(std::move(described));
  }
  return nodes;
}

std::vector<FurtherLossDescription> DescribeFurtherLosses(const Graph& graph) {
  std::vector<FurtherLossDescription> described;
  for (const FurtherLoss& further : graph.further_losses) {
    described.push_back({graph.value(further.value).name, further.weight, further.training_only});
  }
  return described;
}

}  // namespace partita
