#include "graph/passes/prepare_evaluation.h"

#include "graph/ir/generated_name.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool Weighted(const Node& node) { return node.op->name == "softmax_cross_entropy" || node.op->name == "accuracy"; }

// The weights of the samples, made when the first loss or metric asks for them.
absl::StatusOr<ValueId> SampleWeight(Rewriter& rewriter, const TensorType& logits, const OpRegistry& registry) {
  if (const ValueId made = rewriter.graph().Find(kSampleWeightName); made != kNoValue) return made;
  const OpDefinition* op = registry.Find("input");
  CHECK(op != nullptr);
  const TensorType type{logits.dtype, {logits.shape[0]}};
  ASSIGN_OR_RETURN(Attributes attributes,
                   CompleteAttributes(*op, {{"dtype", std::string(Name(type.dtype))}, {"shape", type.shape}}));
  const NodeId id = rewriter.graph().AddNode({op, std::move(attributes), {}, {}, Phase::kForward},
                                             {{kSampleWeightName, type, {}, -1}});
  return rewriter.graph().node(id).outputs[0];
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
      ASSIGN_OR_RETURN(const ValueId weight, SampleWeight(rewriter, forward.type(node.inputs[0]), registry));
      node.inputs = {rewriter.At(node.inputs[0]), rewriter.At(node.inputs[1]), weight};
      rewriter.Replace(id, std::move(node));
    } else {
      rewriter.Copy(id);
    }
  }
  return rewriter.Finish();
}

}  // namespace partita
