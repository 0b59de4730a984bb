// loss = 1/n sum over i of weight_i * loss_i, with n the samples of the global batch (also where weights are given):
// `batch`, or if that is 0 the first dimension of logits; and
//   loss_i = - sum over c of q[i,c] log_softmax(logits)[i,c]
//   q[i,c] = (1 - s) [c == label_i] + s / classes,   s = label_smoothing (Szegedy et al. 2016, section 7)
//
// Logits [n,t,c] have t such rows in each sample, which share its weight or, of weights [n,t], have their own; the mean
// is over n t of them. With `reduction` sum nothing is divided: over weights that add up to 1 in the whole batch, as
// `over` makes them, that is the mean over what weighs anything, however the batch is split.
//
// Rows whose label is `ignore_index`, where it is set, have neither loss nor gradient, and a mean divides by the number
// of all other rows of the batch: 0 / 0, which is NaN, if there is none. Entry points make that mean of a sum
// (ops/forms/classification.h).
//
//   softmax_cross_entropy_grad(logits, labels, sample_weight?, dloss)    dloss weight_i / n (softmax(logits) - q)
//   count_labels(labels, sample_weight?) ignore_index dtype              sum over i of weight_i [label_i !=
//   ignore_index]
//
// Smoothing is for training: an evaluation has none, so that its loss is comparable, and of words the logarithm of the
// perplexity.
//
// Where a strategy splits the classes, it is made of the ops of split_softmax.cc.
//
//   accuracy(logits, labels, sample_weight?)    1/n sum over i of weight_i * [fewer than `top` classes are before
//                                               label_i]
// where class c is before label_i if logits[i,c] is larger, or equal and c is lower: with top = 1 the label is the
// argmax. n, rows of samples and ignored labels are as above.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum RowPart;

absl::StatusOr<std::vector<TensorType>> LossShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckLoss(node));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

absl::StatusOr<std::vector<ValueId>> LossGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  std::vector<ValueId> result(3, kNoValue);
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "softmax_cross_entropy_grad",
                                       {node.inputs[0], node.inputs[1], node.inputs[2], cotangents[0]}, node.attributes,
                                       InputName(builder, node, 0)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> WithoutSmoothing(EntryBuilder& builder, const Node& node,
                                                      const std::string& name) {
  Node plain = node;
  plain.attributes.Set("label_smoothing", 0.0);
  return WithSampleWeight(builder, plain, name);
}

absl::StatusOr<std::vector<TensorType>> CountShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckDType(node, 0, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckRank(node, 0, "labels", {1, 2}, "[n] or [n,t]"));
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  if (node.inputs[1] != nullptr) {
    RETURN_IF_ERROR(CheckDType(node, 1, "sample_weight", dtype));
    RETURN_IF_ERROR(CheckShape(node, 1, "sample_weight", {node.inputs[0]->shape[0]}, "one for each sample of labels"));
  }
  return std::vector<TensorType>{{dtype, {}}};
}

absl::StatusOr<std::vector<TensorType>> AccuracyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckClassifier(node));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "top", 1));
  const int64_t top = node.attributes.Int("top"), classes = node.inputs[0]->shape.back();
  if (top > classes) return InvalidArgument("attribute top is {}; logits tell {} classes apart", top, classes);
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

double Cost(const NodeView& node) { return 6 * Count(node.inputs[0]->shape); }

}  // namespace

OpDefinition SoftmaxCrossEntropyOp() {
  return Op("softmax_cross_entropy")
      .As(Role::kLoss)
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Constant({"sample_weight"})
      .Classes("logits")
      .InTraining(WithCountedLabels)
      .InEvaluation(WithoutSmoothing)
      .Attribute("label_smoothing", 0.0)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Shape(LossShape)
      .Rules(RowsToScalar)
      .Gradient(LossGradient)
      .Decomposes(SoftmaxPieces("cross_entropy"))
      .Flops(Cost);
}

OpDefinition SoftmaxCrossEntropyGradOp() {
  return Op("softmax_cross_entropy_grad")
      .Internal()
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Inputs({"dloss"})
      .OneIfAbsent(3)
      .Attribute("label_smoothing", 0.0)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Shape(LogitsGradShape)
      .Rules([](const NodeView& node) {
        const size_t rank = node.inputs[0]->shape.size();
        const RowPart weight = PartOfWeight(node, 2, rank - 1);
        return RowRules(static_cast<int>(rank), {kElements, kRows, weight, kWhole}, {kElements});
      })
      .Flops(Cost);
}

OpDefinition CountLabelsOp() {
  return Op("count_labels")
      .Internal()
      .Inputs({"labels"})
      .Optional("sample_weight")
      .Wide({"sample_weight"})
      .Required("ignore_index", int64_t{0})
      .Required("dtype", "")
      .Shape(CountShape)
      .Rules([](const NodeView& node) {
        return RowRules(static_cast<int>(node.inputs[0]->shape.size()) + 1, {kRows, kSamples}, {kWhole});
      })
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

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
