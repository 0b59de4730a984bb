#include "partitioner/data_model_strategy.h"

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/base/status.h"

namespace partita {
namespace {

AxisConfig Split(const std::string& name) { return {name, 0, {}}; }

std::optional<Rule> FindSplit(const Graph& forward, const Node& node, const std::string& name) {
  for (Rule& rule : RulesOf(forward, node)) {
    if (rule.name == name) return std::move(rule);
  }
  return std::nullopt;
}

bool HasSplit(const Graph& forward, const Node& node, const std::string& name) {
  return FindSplit(forward, node, name).has_value();
}

// Whether blocks of any size can be split so: no elements belong together.
bool SplitsElements(const Rule& rule) {
  const auto one = [](const Pattern& pattern) { return pattern.unit == 1; };
  return std::all_of(rule.inputs.begin(), rule.inputs.end(), one) &&
         std::all_of(rule.outputs.begin(), rule.outputs.end(), one);
}

// Whether a rule splits dimension 1 of a value, and nothing of it belongs together.
bool SplitsHeads(const Pattern& pattern) {
  return pattern.kind == AxisLayout::Kind::kSplit && pattern.dimension == 1 && pattern.unit == 1;
}

// What is said of single nodes over the axis `model`, in the order of the graph; nothing: the node follows its input.
class GroupSplits {
 public:
  GroupSplits(const Graph& forward, int model, const DataModelOptions& options)
      : forward_(forward), model_(model), options_(options) {}

  std::optional<std::string> Of(const Node& node) {
    const OpDefinition& op = *node.op;
    if (op.role == Role::kConvolution) return OfLayer(node, options_.convolutions);
    if (op.role == Role::kProduct) return OfLayer(node, options_.dense);
    if (op.role == Role::kInput) return OfInput(node);
    if (std::optional<std::string> split = OfHeads(node)) return split;
    if (op.classes >= 0) return options_.dense == LayerSplit::kSamples ? "samples" : "replicate";
    if (op.role == Role::kConcat) return OfConcat(node);
    if (op.view) return OfReshape(node);
    const bool whole = !node.inputs.empty() && GathersAtOnce() && ClassOf(node.inputs[0]) == LayerSplit::kChannels;
    return whole ? std::optional<std::string>("replicate") : std::nullopt;
  }

 private:
  std::string OfLayer(const Node& node, LayerSplit split) const {
    if (split == LayerSplit::kSamples) return "samples";
    if (split == LayerSplit::kRows) return HasSplit(forward_, node, "height") ? "height" : "replicate";
    const std::optional<Rule> channels = FindSplit(forward_, node, "output_channels");
    const bool enough = channels && forward_.type(node.outputs[0]).shape.back() / channels->outputs[0].unit >= model_;
    return enough ? channels->name : "replicate";
  }

  // A product of two activations [n,h,..] is split by its heads, and so is what follows it: softmax too, so that no
  // scores are gathered.
  std::optional<std::string> OfHeads(const Node& node) {
    if (node.outputs.empty() || node.inputs.empty()) return std::nullopt;
    const Shape& y = forward_.type(node.outputs[0]).shape;
    const bool channels = options_.dense == LayerSplit::kChannels && ClassOf(node.outputs[0]) == LayerSplit::kChannels;
    if (y.size() < 4 || y[1] < model_ || !channels) return std::nullopt;
    const auto by_heads = [this](ValueId input) { return by_heads_.contains(input); };
    if (!MultipliesActivations(node) && std::none_of(node.inputs.begin(), node.inputs.end(), by_heads)) {
      return std::nullopt;
    }
    for (const Rule& rule : RulesOf(forward_, node)) {
      bool splits = SplitsHeads(rule.outputs[0]);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        splits = splits && (!by_heads(node.inputs[i]) || SplitsHeads(rule.inputs[i]));
      }
      if (!splits) continue;
      by_heads_.insert(node.outputs[0]);
      return rule.name;
    }
    return std::nullopt;
  }

  // As layers do, but without a weight.
  bool MultipliesActivations(const Node& node) const {
    const auto weight = [](const InputDefinition& input) { return input.parameter; };
    return std::none_of(node.op->inputs.begin(), node.op->inputs.end(), weight) &&
           HasSplit(forward_, node, "input_channels");
  }

  bool GathersAtOnce() const { return options_.input_gradients == InputGradients::kAllReduce; }

  // How the layers are split between which a value lies.
  LayerSplit ClassOf(ValueId value) const {
    return forward_.type(value).shape.size() == 4 ? options_.convolutions : options_.dense;
  }

  std::optional<std::string> OfInput(const Node& node) const {
    const LayerSplit split = ClassOf(node.outputs[0]);
    if (forward_.type(node.outputs[0]).shape.empty() || split == LayerSplit::kChannels) return std::nullopt;
    return split == LayerSplit::kRows ? "height" : "samples";
  }

  // Along a dimension that the channel split may lie on it takes R.
  std::optional<std::string> OfConcat(const Node& node) const {
    const auto channels = static_cast<int64_t>(forward_.type(node.inputs[0]).shape.size()) - 1;
    if (ClassOf(node.inputs[0]) != LayerSplit::kChannels || node.attributes.Int("axis") != channels)
      return std::nullopt;
    return "replicate";
  }

  // From images to features: samples and rows stay where they are until a layer gathers them; channels cannot. Where
  // several elements of one side are one of the other, the blocks of the replicas (or of their micro-batches) may not
  // hold whole ones for every rank: nothing is said then, and the split stays where it can.
  std::optional<std::string> OfReshape(const Node& node) const {
    const LayerSplit from = ClassOf(node.inputs[0]), to = ClassOf(node.outputs[0]);
    const bool gathers = GathersAtOnce() || from == LayerSplit::kChannels;
    if (gathers && to != LayerSplit::kSamples) return "replicate";
    const std::string name = from == LayerSplit::kRows && to != LayerSplit::kSamples ? "height" : "samples";
    const std::optional<Rule> split = FindSplit(forward_, node, name);
    if (!split) return "replicate";
    return SplitsElements(*split) ? std::optional<std::string>(name) : std::nullopt;
  }

  const Graph& forward_;
  const int model_;
  const DataModelOptions& options_;
  std::set<ValueId> by_heads_;  // values that are split so
};

}  // namespace

absl::StatusOr<Strategy> DataModelStrategy(const Graph& forward, int data, int model, const DataModelOptions& options) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", data}, {"model", model}};
  strategy.input_gradients = options.input_gradients;
  if (data < 1 || model < 1) {
    return InvalidArgument("--dp {} --mp {}: both must be at least 1", data, model);
  }
  if (options.dense == LayerSplit::kRows) return InvalidArgument("dense layers have no rows of images to split");
  GroupSplits splits(forward, model, options);
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const std::optional<std::string> split = splits.Of(forward.node(id));
    if (split) strategy.ops.push_back({forward.name(id), {{"model", Split(*split)}}, {}});
  }
  strategy.ops.push_back({"*", {{"data", Split("samples")}}, {}});
  return strategy;
}

LayerSplit CheaperSplit(const Graph& forward, int data, bool convolutions, const SplitSpeed& speed) {
  double weights = 0, activations = 0;
  for (const Node& node : forward.nodes()) {
    if (node.op->role != (convolutions ? Role::kConvolution : Role::kProduct)) continue;
    weights += static_cast<double>(Elements(forward.type(node.inputs[1]).shape));
    activations += static_cast<double>(Elements(forward.type(node.outputs[0]).shape)) / data;
  }
  return 2 * weights / speed.among_all > 3 * activations / speed.within_group ? LayerSplit::kChannels
                                                                              : LayerSplit::kSamples;
}

}  // namespace partita
