#include "graph/passes/unroll_micro_batches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/entry_point.h"
#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/node_view.h"
#include "graph/value/limits.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Unroller {
 public:
  Unroller(const Graph& from, int64_t micro_batches, const OpRegistry& registry)
      : from_(from),
        micro_batches_(micro_batches),
        registry_(registry),
        graph_(from.meshes()),
        blocks_(from.values().size()),
        whole_(from.values().size(), kNoValue) {}

  absl::StatusOr<Graph> Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes().size()); ++id) {
      RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", from_.name(id)), Visit(id)));
    }
    for (const State& state : from_.states()) {
      ASSIGN_OR_RETURN(const ValueId update, Whole(state.update));
      graph_.AddState({whole_[state.value], update});
    }
    ASSIGN_OR_RETURN(graph_.loss, Whole(from_.loss));
    for (FurtherLoss further : from_.further_losses) {
      ASSIGN_OR_RETURN(further.value, Whole(further.value));
      graph_.further_losses.push_back(further);
    }
    for (const ValueId metric : from_.metrics) {
      ASSIGN_OR_RETURN(const ValueId whole, Whole(metric));
      graph_.metrics.push_back(whole);
    }
    return std::move(graph_);
  }

 private:
  bool InBlocks(ValueId value) const { return value != kNoValue && !blocks_[value].empty(); }

  absl::Status Visit(NodeId id) {
    const Node& node = from_.node(id);
    if (node.op->role == Role::kInput && !from_.type(node.outputs[0]).shape.empty()) {
      RETURN_IF_ERROR(CheckDivides(from_.type(node.outputs[0]).shape[0], 1));
      return Unroll(id, Rule{"", {}, {S(0)}});
    }
    const bool in_blocks =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return InBlocks(input); });
    if (!in_blocks || GateOf(*node.op) >= 0) return CopyWhole(id);  // a state is updated once in a step
    RETURN_IF_ERROR(CheckMicroBatch(node));
    const std::optional<Rule> rule = RuleOverBlocks(node);
    return rule ? Unroll(id, *rule) : CopyWhole(id);
  }

  absl::Status CheckDivides(int64_t size, int64_t unit) const {
    if (size % unit == 0 && (size / unit) % micro_batches_ == 0) return absl::OkStatus();
    return InvalidArgument("micro_batches is {}, which does not divide the batch of {}", micro_batches_,
                           Counted(size / unit, "sample"));
  }

  absl::Status CheckMicroBatch(const Node& node) const {
    if (!node.op->check_micro_batch) return absl::OkStatus();
    return node.op->check_micro_batch(ViewOf(from_, node), from_.type(node.inputs[0]).shape[0] / micro_batches_);
  }

  // The rule by which the node's inputs in blocks are split in their first dimension, perhaps states with them, and all
  // others are whole.
  std::optional<Rule> RuleOverBlocks(const Node& node) const {
    const auto follows = [&](ValueId input, const Pattern& pattern) {
      if (input == kNoValue) return true;
      if (!InBlocks(input) && pattern.kind == AxisLayout::Kind::kReplicate) return true;
      return (InBlocks(input) || IsState(from_, input)) && pattern.kind == AxisLayout::Kind::kSplit &&
             pattern.dimension == 0 && CheckDivides(from_.type(input).shape[0], pattern.unit).ok();
    };
    const auto in_blocks_or_sum = [](const Pattern& pattern) {
      if (pattern.kind == AxisLayout::Kind::kSplit) return pattern.dimension == 0;
      return pattern.kind == AxisLayout::Kind::kPartial && pattern.reduction == Reduction::kSum;
    };
    for (const Rule& rule : RulesOf(from_, node)) {
      bool legal = std::all_of(rule.outputs.begin(), rule.outputs.end(), in_blocks_or_sum);
      for (size_t i = 0; i < node.inputs.size(); ++i) legal = legal && follows(node.inputs[i], rule.inputs[i]);
      if (legal) return rule;
    }
    return std::nullopt;
  }

  absl::Status Unroll(NodeId id, const Rule& rule) {
    const Node& node = from_.node(id);
    std::vector<std::vector<ValueId>> copies(node.outputs.size());
    for (int64_t m = 0; m < micro_batches_; ++m) {
      Node copy{node.op, AttributesOf(node, m), {}, {}, node.phase};
      copy.micro_batch = static_cast<int32_t>(m);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        ASSIGN_OR_RETURN(const ValueId input, InputOf(node.inputs[i], rule.inputs[i], m));
        copy.inputs.push_back(input);
      }
      std::vector<std::string> names;
      for (const ValueId output : node.outputs) names.push_back(MicroBatchName(from_.value(output).name, m));
      ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, Append(std::move(copy), names));
      for (size_t o = 0; o < outputs.size(); ++o) copies[o].push_back(outputs[o]);
    }
    for (size_t o = 0; o < copies.size(); ++o) {
      if (rule.outputs[o].kind == AxisLayout::Kind::kSplit) {
        blocks_[node.outputs[o]] = std::move(copies[o]);
      } else {
        ASSIGN_OR_RETURN(whole_[node.outputs[o]],
                         Join(Role::kAdd, {}, std::move(copies[o]), from_.value(node.outputs[o]).name + "@sum"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> InputOf(ValueId input, const Pattern& pattern, int64_t micro_batch) {
    if (InBlocks(input)) return blocks_[input][micro_batch];
    if (input == kNoValue || pattern.kind == AxisLayout::Kind::kReplicate) return Mapped(input);
    return RowsOf(input, micro_batch);
  }

  // The rows of a state that a micro-batch reads.
  absl::StatusOr<ValueId> RowsOf(ValueId state, int64_t micro_batch) {
    const auto [found, fresh] = rows_.emplace(std::pair{state, micro_batch}, kNoValue);
    if (!fresh) return found->second;
    Shape size = from_.type(state).shape;
    size[0] /= micro_batches_;
    IntList begin(size.size(), 0);
    begin[0] = micro_batch * size[0];
    const OpDefinition& op = registry_.Get(Role::kSlice);
    ASSIGN_OR_RETURN(Attributes attributes, CompleteAttributes(op, {{"begin", begin}, {"size", size}}));
    Node slice{&op, std::move(attributes), {Mapped(state)}, {}, Phase::kForward};
    slice.micro_batch = static_cast<int32_t>(micro_batch);
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                     Append(std::move(slice), {MicroBatchName(from_.value(state).name, micro_batch)}));
    return found->second = outputs[0];
  }

  // What the op's attributes say of the first dimension, for one micro-batch.
  Attributes AttributesOf(const Node& node, int64_t micro_batch) const {
    Attributes attributes = node.attributes;
    const TensorType& type = from_.type(node.outputs[0]);
    for (const char* sizes : {"shape", "size"}) {  // of inputs and reshape; of slice
      if (node.op->FindAttribute(sizes) == nullptr || type.shape.empty()) continue;
      Shape shape = type.shape;
      shape[0] /= micro_batches_;
      attributes.Set(sizes, std::move(shape));
    }
    if (node.op->FindAttribute("first_sample") != nullptr) {
      attributes.Set("first_sample", micro_batch * (type.shape[0] / micro_batches_));
    }
    if (node.op->FindAttribute(kField) != nullptr && node.attributes.String(kField).empty()) {
      attributes.Set(kField, from_.value(node.outputs[0]).name);
    }
    // A batch that the user's graph states already counts more than the node's own rows.
    if (node.op->FindAttribute("batch") != nullptr && node.attributes.Int("batch") == 0) {
      attributes.Set("batch", from_.type(node.inputs[0]).shape[0]);
    }
    return attributes;
  }

  absl::Status CopyWhole(NodeId id) {
    Node copy = from_.node(id);
    copy.outputs.clear();
    std::vector<std::string> names;
    for (ValueId& input : copy.inputs) {
      ASSIGN_OR_RETURN(input, Whole(input));
    }
    for (const ValueId output : from_.node(id).outputs) names.push_back(from_.value(output).name);
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, Append(std::move(copy), names));
    for (size_t o = 0; o < outputs.size(); ++o) whole_[from_.node(id).outputs[o]] = outputs[o];
    return absl::OkStatus();
  }

  ValueId Mapped(ValueId value) const { return value == kNoValue ? kNoValue : whole_[value]; }

  absl::StatusOr<ValueId> Whole(ValueId value) {
    if (value == kNoValue || whole_[value] != kNoValue) return Mapped(value);
    ASSIGN_OR_RETURN(whole_[value],
                     Join(Role::kConcat, {{"axis", int64_t{0}}}, blocks_[value], from_.value(value).name + "@whole"));
    return whole_[value];
  }

  absl::StatusOr<ValueId> Join(Role role, const Attributes& attributes, std::vector<ValueId> parts,
                               const std::string& name) {
    if (parts.size() == 1) return parts[0];
    const OpDefinition& op = registry_.Get(role);
    ASSIGN_OR_RETURN(Attributes complete, CompleteAttributes(op, attributes));
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                     Append({&op, std::move(complete), std::move(parts), {}, Phase::kForward}, {name}));
    return outputs[0];
  }

  absl::StatusOr<std::vector<ValueId>> Append(Node node, const std::vector<std::string>& names) {
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(graph_, node));
    std::vector<Value> outputs;
    for (size_t o = 0; o < types.size(); ++o) outputs.push_back({names[o], types[o], {}, -1});
    const NodeId id = graph_.AddNode(std::move(node), outputs);
    return graph_.node(id).outputs;
  }

  const Graph& from_;
  const int64_t micro_batches_;
  const OpRegistry& registry_;
  Graph graph_;
  std::vector<std::vector<ValueId>> blocks_;             // by original value: its micro-batches; empty: not in blocks
  std::vector<ValueId> whole_;                           // by original value
  std::map<std::pair<ValueId, int64_t>, ValueId> rows_;  // of states: what micro-batches read
};

}  // namespace

absl::StatusOr<Graph> UnrollMicroBatches(const Graph& forward, int64_t micro_batches, const OpRegistry& registry) {
  const auto nodes = static_cast<int64_t>(forward.nodes().size());
  if (micro_batches < 1 || micro_batches > kMostMicroBatches) {
    return InvalidArgument("micro_batches is {}; 1 to {} are allowed", micro_batches, kMostMicroBatches);
  }
  if (nodes * micro_batches > kMostNodes) {
    return InvalidArgument("micro_batches is {}, of a graph of {} nodes: {} nodes; at most {} are allowed",
                           micro_batches, nodes, nodes * micro_batches, kMostNodes);
  }
  return Unroller(forward, micro_batches, registry).Run();
}

}  // namespace partita
