// loss = 1/n sum over i of weight_i * loss_i, with n the samples of the global batch (also where weights are given):
// `batch`, or if that is 0 the first dimension of logits; and
//   loss_i = - sum over c of q[i,c] log_softmax(logits)[i,c]
//   q[i,c] = (1 - s) [c == label_i] + s / classes,   s = label_smoothing (Szegedy et al. 2016, section 7)
//
// Logits [n,t,c] have t such rows in each sample, which share its weight or, of weights [n,t], have their own; the mean
// is over n t of them. With `reduction` sum nothing is divided: over weights that add up to 1 in the whole batch, as
// `over` makes them, that is the mean over what weighs anything, however the batch is split.
//
//   softmax_cross_entropy_grad(logits, labels, sample_weight?, dloss)    dloss weight_i / n (softmax(logits) - q)
//
// Smoothing is for training: an evaluation has none, so that its loss is comparable, and of words the logarithm of the
// perplexity.
//
// Where a strategy splits the classes, it is made of the ops of split_softmax.cc.
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
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

double Cost(const NodeView& node) { return 6 * Count(node.inputs[0]->shape); }

}  // namespace

OpDefinition SoftmaxCrossEntropyOp() {
  return Op("softmax_cross_entropy")
      .As(Role::kLoss)
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Constant({"sample_weight"})
      .Classes("logits")
      .InEvaluation(WithoutSmoothing)
      .Attribute("label_smoothing", 0.0)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
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
      .Shape(LogitsGradShape)
      .Rules([](const NodeView& node) {
        const size_t rank = node.inputs[0]->shape.size();
        const RowPart weight = PartOfWeight(node, 2, rank - 1);
        return RowRules(static_cast<int>(rank), {kElements, kRows, weight, kWhole}, {kElements});
      })
      .Flops(Cost);
}

}  // namespace partita
