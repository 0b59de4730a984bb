// 1/n sum over i of weight_i * [fewer than `top` classes are before label_i], where class c is before label_i if
// logits[i,c] is larger, or equal and c is lower: with top = 1 the label is the argmax. n is the number of samples of
// the global batch: `batch`, or if that is 0 the first dimension of logits. Logits [n,t,c] have t rows in each sample,
// which share its weight or have their own; the mean is over n t of them. With `reduction` sum nothing is divided. Rows
// whose label is `ignore_index` count nothing, as in softmax_cross_entropy.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> AccuracyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckClassifier(node));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "top", 1));
  const int64_t top = node.attributes.Int("top"), classes = node.inputs[0]->shape.back();
  if (top > classes) return InvalidArgument("attribute top is {}; logits tell {} classes apart", top, classes);
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

}  // namespace

OpDefinition AccuracyOp() {
  return Op("accuracy")
      .As(Role::kAccuracy)
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Constant({"logits", "sample_weight"})
      .Classes("logits")
      .InTraining(WithCountedLabels)
      .InEvaluation(WithSampleWeight)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Attribute("top", int64_t{1})
      .Shape(AccuracyShape)
      .Rules(RowsToScalar)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

}  // namespace partita
