#include "partitioner/data_model_strategy.h"

#include <algorithm>
#include <map>
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

// Whether a rule splits this dimension of a value, and nothing of it belongs together.
bool Splits(const Pattern& pattern, int dimension) {
  return pattern.kind == AxisLayout::Kind::kSplit && pattern.dimension == dimension && pattern.unit == 1;
}

// What is said of single nodes over the axis `model`, in the order of the graph; nothing: the node follows its input.
class GroupSplits {
 public:
  GroupSplits(const Graph& forward, int data, int model, const DataModelOptions& options)
      : forward_(forward), data_(data), model_(model), options_(options) {
    for (const Node& node : forward.nodes()) FindReaders(node);
  }

  std::optional<std::string> Of(const Node& node) {
    std::optional<std::string> split = SplitOf(node);
    Record(node, split);
    return split;
  }

 private:
  // Weights that layers read in parts, and what is read whole.
  void FindReaders(const Node& node) {
    if (IsLayer(node) && OfLayer(node, ClassOfLayer(node)) == "output_channels") {
      const int cut = FindSplit(forward_, node, "output_channels")->inputs[1].dimension;
      weight_cut_.emplace(node.inputs[1], cut);
    }
    if (node.op->classes >= 0 && !node.op->decomposition) needs_classes_.insert(node.inputs[node.op->classes]);
  }

  std::optional<std::string> SplitOf(const Node& node) const {
    const OpDefinition& op = *node.op;
    if (IsLayer(node)) return OfLayer(node, ClassOfLayer(node));
    if (op.role == Role::kInput) return OfInput(node);
    if (op.role == Role::kEmbedding && !GathersAtOnce()) return OfTable(node);
    if (std::optional<std::string> split = OfSum(node)) return split;
    if (std::optional<std::string> split = OfHeads(node)) return split;
    if (op.classes >= 0) return OfClasses(node);
    if (op.role == Role::kConcat) return OfConcat(node);
    if (op.view) return OfReshape(node);
    const bool whole = !node.inputs.empty() && GathersAtOnce() && ClassOf(node.inputs[0]) == LayerSplit::kChannels;
    return whole ? std::optional<std::string>("replicate") : std::nullopt;
  }

  // Multiplies an activation by weights.
  bool IsLayer(const Node& node) const {
    if (node.op->role == Role::kConvolution || node.op->role == Role::kProduct) return true;
    return MultipliesAny(node) && forward_.node(forward_.value(node.inputs[1]).producer).op->is_state();
  }

  LayerSplit ClassOfLayer(const Node& node) const {
    return node.op->role == Role::kConvolution ? options_.convolutions : options_.dense;
  }

  std::string OfLayer(const Node& node, LayerSplit split) const {
    if (split == LayerSplit::kSamples) return "samples";
    if (split == LayerSplit::kRows) return HasSplit(forward_, node, "height") ? "height" : "replicate";
    const std::optional<Rule> channels = FindSplit(forward_, node, "output_channels");
    const bool enough = channels && forward_.type(node.outputs[0]).shape.back() / channels->outputs[0].unit >= model_;
    return enough ? channels->name : "replicate";
  }

  // A table that a layer reads too, as its weight, lies as the layer's part of it where that moves less: rows of the
  // results are then added up, and their gradients gathered. Else the table changes from one split to the other, and
  // its gradient back.
  std::optional<std::string> OfTable(const Node& node) const {
    const auto cut = weight_cut_.find(node.inputs[0]);
    if (cut == weight_cut_.end()) return std::nullopt;
    for (const Rule& rule : RulesOf(forward_, node)) {
      if (rule.name == "partial" || !Splits(rule.inputs[0], cut->second)) continue;
      const bool sums = rule.outputs[0].kind == AxisLayout::Kind::kPartial;
      const int64_t rows = Elements(forward_.type(node.outputs[0]).shape);
      const int64_t tables = Elements(forward_.type(node.inputs[0]).shape) / model_ * data_;
      if (!sums || rows <= tables) return rule.name;
    }
    return std::nullopt;
  }

  // What reads rows that are added up reads their channels in parts, as a layer would make them.
  std::optional<std::string> OfSum(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size() && !GathersAtOnce(); ++i) {
      if (!sums_.contains(node.inputs[i])) continue;
      const int read = LastOf(node.inputs[i]), made = LastOf(node.outputs[0]);
      for (const Rule& rule : RulesOf(forward_, node)) {
        if (Splits(rule.inputs[i], read) && Splits(rule.outputs[0], made)) return rule.name;
      }
    }
    return std::nullopt;
  }

  // A product of two activations [n,h,..] is split by its heads, and so is what follows it: softmax too, so that no
  // scores are gathered.
  std::optional<std::string> OfHeads(const Node& node) const {
    if (node.outputs.empty() || node.inputs.empty()) return std::nullopt;
    const Shape& y = forward_.type(node.outputs[0]).shape;
    const bool channels = options_.dense == LayerSplit::kChannels && ClassOf(node.outputs[0]) == LayerSplit::kChannels;
    if (y.size() < 4 || y[1] < model_ || !channels) return std::nullopt;
    const auto by_heads = [this](ValueId input) { return CutOf(input) == 1; };
    if (!MultipliesAny(node) && std::none_of(node.inputs.begin(), node.inputs.end(), by_heads)) {
      return std::nullopt;
    }
    for (const Rule& rule : RulesOf(forward_, node)) {
      bool splits = Splits(rule.outputs[0], 1);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        splits = splits && (!by_heads(node.inputs[i]) || Splits(rule.inputs[i], 1));
      }
      if (splits) return rule.name;
    }
    return std::nullopt;
  }

  // Two activations, or an activation and weights.
  bool MultipliesAny(const Node& node) const {
    const auto weight = [](const InputDefinition& input) { return input.parameter; };
    return node.inputs.size() == 2 && std::none_of(node.op->inputs.begin(), node.op->inputs.end(), weight) &&
           HasSplit(forward_, node, "input_channels");
  }

  // A loss takes classes as the classifier makes them, unless another node needs all of them anyhow, or they are fewer
  // numbers than travel for the maximum and the sum of a row. What makes something of each class, such as softmax, is
  // whole.
  std::optional<std::string> OfClasses(const Node& node) const {
    constexpr int64_t kNumbersOfTwoSums = 4;
    if (options_.dense == LayerSplit::kSamples) return "samples";
    const ValueId logits = node.inputs[node.op->classes];
    if (GathersAtOnce()) return "replicate";
    if (CutOf(logits) != LastOf(logits)) return std::nullopt;
    const bool scalar = forward_.type(node.outputs[0]).shape.empty();
    const bool parts = scalar && node.op->decomposition && !needs_classes_.contains(logits) &&
                       forward_.type(logits).shape.back() > kNumbersOfTwoSums;
    return parts ? node.op->decomposition->split : "replicate";
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

  // Samples and rows stay where they are until a layer gathers them, and channels where each rank holds whole elements
  // of both sides: the heads of an attention, classes of words. From images to features channels cannot. Where several
  // elements of one side are one of the other, the blocks of the replicas (or of their micro-batches) may not hold
  // whole ones for every rank: nothing is said then, and the split stays where it can.
  std::optional<std::string> OfReshape(const Node& node) const {
    const LayerSplit from = ClassOf(node.inputs[0]), to = ClassOf(node.outputs[0]);
    const bool gathers = GathersAtOnce() || from == LayerSplit::kChannels;
    if (gathers && to != LayerSplit::kSamples) return GathersAtOnce() ? "replicate" : OfChannels(node);
    const std::string name = from == LayerSplit::kRows && to != LayerSplit::kSamples ? "height" : "samples";
    const std::optional<Rule> split = FindSplit(forward_, node, name);
    if (!split) return "replicate";
    return SplitsElements(*split) ? std::optional<std::string>(name) : std::nullopt;
  }

  std::string OfChannels(const Node& node) const {
    const int cut = CutOf(node.inputs[0]);
    for (const Rule& rule : RulesOf(forward_, node)) {
      const Pattern& x = rule.inputs[0];
      if (cut < 1 || x.kind != AxisLayout::Kind::kSplit || x.dimension != cut) continue;
      if (forward_.type(node.inputs[0]).shape[cut] / x.unit >= model_) return rule.name;
    }
    return "replicate";
  }

  int LastOf(ValueId value) const { return static_cast<int>(forward_.type(value).shape.size()) - 1; }

  // The dimension along which a value is split over `model` as channels are; -1: it is not, as far as is known here.
  int CutOf(ValueId value) const {
    const auto cut = cut_.find(value);
    return cut == cut_.end() ? -1 : cut->second;
  }

  void Record(const Node& node, const std::optional<std::string>& split) {
    const std::optional<Rule> rule = split ? FindSplit(forward_, node, *split) : RuleOfFollower(node);
    for (size_t o = 0; rule && o < node.outputs.size(); ++o) {
      const Pattern& made = rule->outputs[o];
      if (made.kind == AxisLayout::Kind::kSplit && made.dimension > 0) cut_[node.outputs[o]] = made.dimension;
      if (split && made.kind == AxisLayout::Kind::kPartial) sums_.insert(node.outputs[o]);
    }
  }

  // A node of which nothing is said keeps the split of its first activation, if it can.
  std::optional<Rule> RuleOfFollower(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const size_t declared = std::min(i, node.op->inputs.size() - 1);
      if (input == kNoValue || node.op->inputs[declared].parameter) continue;
      if (forward_.node(forward_.value(input).producer).op->is_state()) continue;
      for (Rule& rule : RulesOf(forward_, node)) {
        const Pattern& read = rule.inputs[std::min(i, rule.inputs.size() - 1)];
        if (read.kind == AxisLayout::Kind::kSplit && read.dimension == CutOf(input)) return std::move(rule);
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  const Graph& forward_;
  const int data_, model_;
  const DataModelOptions& options_;
  std::map<ValueId, int> cut_;         // of activations, as CutOf says
  std::map<ValueId, int> weight_cut_;  // of weights, by the first layer that reads a part of them
  std::set<ValueId> sums_;             // rows of tables that are split by rows
  std::set<ValueId> needs_classes_;    // values of which some node reads all classes
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
  GroupSplits splits(forward, data, model, options);
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
