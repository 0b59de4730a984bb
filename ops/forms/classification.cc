#include "ops/forms/classification.h"

#include "graph/ir/generated_name.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status CheckClassifier(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "logits"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  RETURN_IF_ERROR(CheckRank(node, 0, "logits", {2, 3}, "[n,classes] or [n,t,classes]"));
  const Shape& logits = node.inputs[0]->shape;
  RETURN_IF_ERROR(CheckDType(node, 1, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 1, "labels", RowsOf(logits), "one for each row of logits"));
  return CheckLike(node, 2, "sample_weight", {logits[0]}, "one for each sample of logits");
}

absl::Status CheckLoss(const NodeView& node) {
  RETURN_IF_ERROR(CheckClassifier(node));
  return CheckNumber(node.attributes, "label_smoothing", 0, 1);
}

absl::StatusOr<std::vector<TensorType>> LogitsGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckLoss(node));
  RETURN_IF_ERROR(CheckLike(node, 3, "dloss", {}, "a scalar"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<ValueId>> WithSampleWeight(EntryBuilder& builder, const Node& node,
                                                      const std::string& name) {
  const TensorType logits = builder.graph().type(node.inputs[0]);
  ASSIGN_OR_RETURN(ValueId weight, builder.SampleWeight({logits.dtype, {logits.shape[0]}}));
  const ValueId own = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  if (own != kNoValue) {
    ASSIGN_OR_RETURN(const std::vector<ValueId> both,
                     builder.Add("mul", {own, weight}, {}, {name + kSampleWeightName}));
    weight = both[0];
  }
  return builder.Add(node.op->name, {node.inputs[0], node.inputs[1], weight}, node.attributes, {name});
}

Decomposition SoftmaxPieces(const std::string& op) {
  return {kClassSplit, {{"row_maximum", "maximum"}, {"row_exponentials", "exponentials"}}, op};
}

std::vector<Rule> RowsToScalar(const NodeView& node) {
  using enum RowPart;
  return RowRules(static_cast<int>(node.inputs[0]->shape.size()), {kElements, kRows, kSamples}, {kWhole});
}

}  // namespace partita
