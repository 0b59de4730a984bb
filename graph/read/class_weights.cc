#include "graph/read/class_weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/read/graph_assembler.h"
#include "graph/read/listed_values.h"
#include "graph/read/model_entries.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kLossOp[] = "softmax_cross_entropy";
constexpr char kWeights[] = "/class_weights";

const Node& LossNode(const Graph& graph) { return graph.node(graph.value(graph.loss).producer); }

std::string LossName(const Graph& graph) { return graph.value(graph.loss).name; }

// The label that the loss ignores.
std::optional<int64_t> IgnoredLabel(const Node& loss) {
  if (!loss.attributes.Has("ignore_index")) return std::nullopt;
  return loss.attributes.Int("ignore_index");
}

// The nodes between a label and what it counts in the batch.
void AddShares(const Graph& graph, const std::vector<double>& weights, std::vector<NodeDescription>& nodes) {
  const std::string name = LossName(graph);
  const Node& loss = LossNode(graph);
  const auto at = std::ranges::find(nodes, name, &NodeDescription::name);
  const std::string labels = at->inputs[1];
  const bool mean = loss.attributes.String("reduction") == "mean";
  at->inputs = {at->inputs[0], labels, name + (mean ? "/label_shares" : "/label_weights")};
  at->attributes.Set("reduction", std::string("sum"));
  Shape shape = graph.type(loss.inputs[1]).shape;
  shape[0] = -1;
  const auto classes = static_cast<int64_t>(weights.size());
  // A label that is ignored counts nothing in the sum.
  const int64_t ignored = IgnoredLabel(loss).value_or(-1);
  nodes.push_back(
      {name + kWeights,
       "state",
       {},
       {{"initializer", std::string("values")}, {"shape", Shape{classes, 1}}, {"values", ListedValues(weights)}}});
  nodes.push_back({name + "/rows", "embedding", {name + kWeights, labels}, {{"padding_row", ignored}}});
  nodes.push_back({name + "/label_weights", "reshape", {name + "/rows"}, {{"shape", std::move(shape)}}});
  if (!mean) return;
  nodes.push_back({name + "/weights", "sum", {name + "/label_weights"}, {}});
  nodes.push_back({name + "/label_shares", "over", {name + "/label_weights", name + "/weights"}, {}});
}

}  // namespace

absl::StatusOr<ClassLoss> ClassLossOf(const Model& model) {
  const Graph& graph = model.graph;
  const Node& loss = LossNode(graph);
  const std::string name = Quoted(LossName(graph));
  if (loss.op->name != kLossOp) {
    return InvalidArgument("loss {} is {}; class weights are for {}, which has one label for each row", name,
                           loss.op->name, kLossOp);
  }
  const int64_t classes = graph.type(loss.inputs[0]).shape.back();
  if (loss.inputs[2] != kNoValue && !graph.value(loss.inputs[2]).name.starts_with(LossName(graph) + "/label_")) {
    return InvalidArgument("loss {} has weights of its own, {}; expected a loss without", name,
                           Quoted(graph.value(loss.inputs[2]).name));
  }
  if (loss.attributes.Float("label_smoothing") != 0) {
    return InvalidArgument("loss {} has a label_smoothing of {}; class weights need 0", name,
                           loss.attributes.Float("label_smoothing"));
  }
  const std::optional<int64_t> ignored = IgnoredLabel(loss);
  if (ignored && (*ignored < 0 || *ignored >= classes)) {
    return InvalidArgument("loss {} has an ignore_index of {}; with class weights it must be a class, 0 to {}", name,
                           *ignored, classes - 1);
  }
  const Node& labels = graph.node(graph.value(loss.inputs[1]).producer);
  if (labels.op->role != Role::kInput) {
    return InvalidArgument("loss {} compares with {}, which is computed; class weights need labels that are an input",
                           name, Quoted(graph.value(loss.inputs[1]).name));
  }
  const std::string field = labels.attributes.String("field");
  return ClassLoss{field.empty() ? graph.value(loss.inputs[1]).name : field, classes};
}

absl::StatusOr<Model> WithClassWeights(const Model& model, const std::vector<double>& weights,
                                       const OpRegistry& registry) {
  Model result = model;
  std::vector<NodeDescription> nodes = DescribeNodes(model);
  const auto known = std::ranges::find(nodes, LossName(model.graph) + kWeights, &NodeDescription::name);
  if (known != nodes.end()) {
    known->attributes.Set("values", ListedValues(weights));
  } else {
    AddShares(model.graph, weights, nodes);
  }
  RETURN_IF_ERROR(BuildGraphs(nodes, DescribeResults(model.graph), registry, result));
  return result;
}

std::set<std::string> ClassWeightStates(const Graph& graph) {
  const std::string name = LossName(graph) + kWeights;
  return graph.Find(name) == kNoValue ? std::set<std::string>() : std::set<std::string>{name};
}

}  // namespace partita
