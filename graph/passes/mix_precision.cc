#include "graph/passes/mix_precision.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/entry_point.h"
#include "graph/ir/node_view.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const InputDefinition& InputOf(const OpDefinition& op, size_t input) {
  return op.inputs[std::min(input, op.inputs.size() - 1)];
}

class Mixer {
 public:
  Mixer(const Graph& graph, const OpRegistry& registry) : cast_(&registry.Get(Role::kCast)), rewriter_(graph) {}

  absl::StatusOr<Graph> Run() {
    const Graph& from = rewriter_.from();
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
      RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", from.name(id)), Copy(id)));
    }
    for (const State& state : from.states()) KeepType(state.update);
    for (const ValueId result : ResultsOf(from)) KeepType(result);
    return rewriter_.Finish();
  }

 private:
  Graph& graph() { return rewriter_.graph(); }
  DType TypeOf(ValueId original) { return graph().type(rewriter_.At(original)).dtype; }

  bool IsNarrow(const Node& node) {
    if (node.op->precision != Precision::kFollows) return node.op->precision == Precision::kNarrow;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue || InputOf(*node.op, i).wide) continue;
      if (TypeOf(node.inputs[i]) == DType::kBF16) return true;
    }
    return false;
  }

  absl::Status Copy(NodeId id) {
    Node node = rewriter_.from().node(id);
    if (node.inputs.empty()) {
      rewriter_.Copy(id);
      return absl::OkStatus();
    }
    const bool narrow = IsNarrow(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      node.inputs[i] = rewriter_.At(node.inputs[i]);
      if (node.op->move || node.op == cast_) continue;
      node.inputs[i] = As(node.inputs[i], narrow && !InputOf(*node.op, i).wide ? DType::kBF16 : DType::kF32);
    }
    std::vector<Value> outputs = rewriter_.Outputs(id);
    RETURN_IF_ERROR(SetTypes(node, outputs));
    const NodeId copy = graph().AddNode(std::move(node), std::move(outputs));
    for (size_t o = 0; o < graph().node(copy).outputs.size(); ++o) {
      rewriter_.Map(rewriter_.from().node(id).outputs[o], graph().node(copy).outputs[o]);
    }
    return absl::OkStatus();
  }

  absl::Status SetTypes(const Node& node, std::vector<Value>& outputs) {
    ASSIGN_OR_RETURN(std::vector<TensorType> types, InferTypes(graph(), node));
    CHECK(types.size() == outputs.size());
    for (size_t o = 0; o < types.size(); ++o) outputs[o].type = std::move(types[o]);
    return absl::OkStatus();
  }

  // `value` of the copy as a float of type `dtype`; integers are what they are, and so are statistics, in f64. A cast
  // of what belongs to no micro-batch serves all of them.
  ValueId As(ValueId value, DType dtype) {
    const Value source = graph().value(value);
    if (!IsFloating(source.type.dtype) || source.type.dtype == DType::kF64 || source.type.dtype == dtype) return value;
    const auto [found, is_new] = casts_.try_emplace(value, kNoValue);
    if (!is_new) return found->second;
    Node node{cast_, {{"dtype", std::string(Name(dtype))}}, {value}, {}, Phase::kForward};
    node.micro_batch = graph().node(source.producer).micro_batch;
    const std::string name = graph().UniqueName(fmt::format("{}@{}", source.name, Name(dtype)));
    const NodeId id = graph().AddNode(std::move(node), {{name, {dtype, source.type.shape}, source.layout, -1}});
    return found->second = graph().node(id).outputs[0];
  }

  // What leaves the step has the type that it had.
  void KeepType(ValueId original) {
    if (original == kNoValue) return;
    rewriter_.Map(original, As(rewriter_.At(original), rewriter_.from().type(original).dtype));
  }

  const OpDefinition* const cast_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> casts_;  // of values that are bf16 to f32, of others to bf16
};

}  // namespace

absl::StatusOr<Graph> MixPrecision(const Graph& graph, const OpRegistry& registry) {
  return Mixer(graph, registry).Run();
}

}  // namespace partita
