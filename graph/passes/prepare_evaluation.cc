#include "graph/passes/prepare_evaluation.h"

#include "graph/ir/generated_name.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool Weighted(const Node& node) { return node.op->name == "softmax_cross_entropy" || node.op->name == "accuracy"; }

absl::StatusOr<ValueId> Add(Rewriter& rewriter, const OpRegistry& registry, const std::string& op_name,
                            const Attributes& given, std::vector<ValueId> inputs, const std::string& name,
                            const TensorType& type) {
  const OpDefinition* op = registry.Find(op_name);
  CHECK(op != nullptr);
  ASSIGN_OR_RETURN(Attributes attributes, CompleteAttributes(*op, given));
  const NodeId id = rewriter.graph().AddNode({op, std::move(attributes), std::move(inputs), {}, Phase::kForward},
                                             {{name, type, {}, -1}});
  return rewriter.graph().node(id).outputs[0];
}

// The weights of the samples, made when the first loss or metric asks for them.
absl::StatusOr<ValueId> SampleWeight(Rewriter& rewriter, const OpRegistry& registry, const TensorType& type) {
  if (const ValueId made = rewriter.graph().Find(kSampleWeightName); made != kNoValue) return made;
  return Add(rewriter, registry, "input", {{"dtype", std::string(Name(type.dtype))}, {"shape", type.shape}}, {},
             kSampleWeightName, type);
}

// What a loss or metric weighs samples by: the product with the user's weights, if the node has any.
absl::StatusOr<ValueId> WeightOf(Rewriter& rewriter, const OpRegistry& registry, NodeId id) {
  const Node& node = rewriter.from().node(id);
  const TensorType& logits = rewriter.from().type(node.inputs[0]);
  const TensorType type{logits.dtype, {logits.shape[0]}};
  ASSIGN_OR_RETURN(const ValueId weight, SampleWeight(rewriter, registry, type));
  const ValueId own = node.inputs.size() > 2 ? rewriter.At(node.inputs[2]) : kNoValue;
  if (own == kNoValue) return weight;
  return Add(rewriter, registry, "mul", {}, {own, weight}, rewriter.from().name(id) + kSampleWeightName, type);
}

}  // namespace

absl::StatusOr<Graph> PrepareEvaluation(const Graph& forward, const OpRegistry& registry) {
  Rewriter rewriter(forward);
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    Node node = forward.node(id);
    if (node.op->name == "dropout") {
      rewriter.Map(node.outputs[0], rewriter.At(node.inputs[0]));
    } else if (node.op->name == "batch_norm") {
      const OpDefinition* op = registry.Find("batch_norm_inference");
      CHECK(op != nullptr);
      ASSIGN_OR_RETURN(Attributes attributes, CompleteAttributes(*op, {{"epsilon", node.attributes.Float("epsilon")}}));
      for (ValueId& input : node.inputs) input = rewriter.At(input);
      rewriter.Replace(id, {op, std::move(attributes), std::move(node.inputs), {}, Phase::kForward});
    } else if (Weighted(node)) {
      ASSIGN_OR_RETURN(const ValueId weight, WeightOf(rewriter, registry, id));
      node.inputs = {rewriter.At(node.inputs[0]), rewriter.At(node.inputs[1]), weight};
      rewriter.Replace(id, std::move(node));
    } else {
      rewriter.Copy(id);
    }
  }
  return rewriter.Finish();
}

}  // namespace partita
