// Softmax and its loss in the pieces that a split of the classes needs: what is local to some classes, and what is
// combined over all of them. x is [n,c] (or has rows in more dimensions, ops/forms/rows.h); the pieces are
//
//   maximum = row_maximum(x)                         [n]    max over c of x[i,c]: of some classes P(max)
//   sum = row_exponentials(x, maximum)               [n]    sum over c of exp(x[i,c] - maximum[i]): of some classes P
//   softmax_normalize(x, maximum, sum)               [n,c]  exp(x[i,c] - maximum[i]) / sum[i]
//   log_softmax_normalize(x, maximum, sum)           [n,c]  x[i,c] - maximum[i] - log sum[i]
//   cross_entropy(x, labels, sample_weight?, maximum, sum)  scalar, of some classes P: with q as in
//       softmax_cross_entropy, 1/n (1 of a sum) sum over i of weight_i sum over c of q[i,c] (maximum[i] + log sum[i] -
//       x[i,c])
//
// A user writes softmax_cross_entropy, softmax, log_softmax or row_maximum; a pass puts the pieces in their place where
// a strategy splits the classes (graph/passes/decompose.h). No gradient flows through a maximum: it cancels. The
// cotangent of a sum that the loss gives is the same on every rank, since q adds up to 1, so the backward pass of a
// loss moves nothing.
//
//   row_exponentials_grad(x, maximum, dsum)                    exp(x - maximum) dsum
//   softmax_normalize_grad(y, dy, sum)                         dsum[i] = - sum over c of y[i,c] dy[i,c] / sum[i]
//   log_softmax_normalize_grad(dy, sum)                        dsum[i] = - sum over c of dy[i,c] / sum[i]
//   cross_entropy_logits_grad(x, labels, sample_weight?, dloss)  - dloss weight_i / n q[i,c]
//   cross_entropy_sum_grad(sum, labels, sample_weight?, dloss)   dloss weight_i / n / sum[i]
//
// All three leave out rows whose label is `ignore_index`, as softmax_cross_entropy does.
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

// Inputs from `first` on: one number for each row of input 0.
absl::Status CheckPerRow(const NodeView& node, int first, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(CheckLike(node, first + static_cast<int>(i), names[i], RowsOf(node.inputs[0]->shape), "one a row"));
  }
  return absl::OkStatus();
}

TensorType OnePerRow(const NodeView& node) { return {node.inputs[0]->dtype, RowsOf(node.inputs[0]->shape)}; }

// The type of the output, of the rows alone (`per_row`) or of x.
ShapeFunction RowsShape(const std::string& name, const std::vector<std::string>& numbers, bool per_row) {
  return [=](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    RETURN_IF_ERROR(CheckRows(node, 0, name));
    RETURN_IF_ERROR(CheckPerRow(node, 1, numbers));
    return std::vector<TensorType>{per_row ? OnePerRow(node) : *node.inputs[0]};
  };
}

absl::StatusOr<std::vector<TensorType>> GradOfSumShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckRows(node, 0, "y"));
  RETURN_IF_ERROR(CheckLike(node, 1, "dy", node.inputs[0]->shape, "the same as y"));
  RETURN_IF_ERROR(CheckPerRow(node, 2, {"sum"}));
  return std::vector<TensorType>{OnePerRow(node)};
}

absl::StatusOr<std::vector<TensorType>> CrossEntropyShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckLoss(node));
  RETURN_IF_ERROR(CheckPerRow(node, 3, {"maximum", "sum"}));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

absl::StatusOr<std::vector<TensorType>> SumGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "sum"));
  RETURN_IF_ERROR(CheckRank(node, 0, "sum", {1, 2}, "[n] or [n,t]"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  RETURN_IF_ERROR(CheckChoice(node.attributes, "reduction", {"mean", "sum"}));
  RETURN_IF_ERROR(CheckDType(node, 1, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 1, "labels", node.inputs[0]->shape, "one for each row"));
  RETURN_IF_ERROR(CheckSampleWeight(node, 2, node.inputs[0]->shape));
  RETURN_IF_ERROR(CheckLike(node, 3, "dloss", {}, "a scalar"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<ValueId>> ExponentialsGradient(GradientBuilder& builder, const Node& node,
                                                          const std::vector<ValueId>& cotangents,
                                                          const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0],
                     AddOne(builder, "row_exponentials_grad", {node.inputs[0], node.inputs[1], cotangents[0]}, {},
                            InputName(builder, node, 0)));
  }
  return result;
}

// Where y is exp(x - maximum) / sum it is what x's gradient takes dy times of.
absl::StatusOr<std::vector<ValueId>> SoftmaxNormalizeGradient(GradientBuilder& builder, const Node& node,
                                                              const std::vector<ValueId>& cotangents,
                                                              const std::vector<bool>& wanted) {
  std::vector<ValueId> result(3, kNoValue);
  const ValueId y = node.outputs[0], dy = cotangents[0];
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "mul", {dy, y}, {}, InputName(builder, node, 0)));
  }
  if (wanted[2]) {
    ASSIGN_OR_RETURN(
        result[2], AddOne(builder, "softmax_normalize_grad", {y, dy, node.inputs[2]}, {}, InputName(builder, node, 2)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> NormalizeGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  std::vector<ValueId> result(3, kNoValue);
  if (wanted[0]) result[0] = cotangents[0];
  if (wanted[2]) {
    ASSIGN_OR_RETURN(result[2], AddOne(builder, "log_softmax_normalize_grad", {cotangents[0], node.inputs[2]}, {},
                                       InputName(builder, node, 2)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> CrossEntropyGradient(GradientBuilder& builder, const Node& node,
                                                          const std::vector<ValueId>& cotangents,
                                                          const std::vector<bool>& wanted) {
  std::vector<ValueId> result(5, kNoValue);
  const std::vector<ValueId>& in = node.inputs;
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "cross_entropy_logits_grad", {in[0], in[1], in[2], cotangents[0]},
                                       node.attributes, InputName(builder, node, 0)));
  }
  if (wanted[4]) {
    Attributes mean = node.attributes;
    mean.Remove("label_smoothing");
    ASSIGN_OR_RETURN(result[4], AddOne(builder, "cross_entropy_sum_grad", {in[4], in[1], in[2], cotangents[0]}, mean,
                                       InputName(builder, node, 4)));
  }
  return result;
}

// Of x, input 0: rows may be split, and classes, of which a number per row is a part then, by `reduction`.
RulesFunction RowsAndClasses(const std::vector<RowPart>& inputs, const std::vector<RowPart>& outputs,
                             Reduction reduction = Reduction::kSum) {
  return [=](const NodeView& node) {
    const int rank = static_cast<int>(node.inputs[0]->shape.size());
    std::vector<Rule> rules = RowRules(rank, inputs, outputs);
    rules.push_back(SplitRows(rank, kClassSplit, inputs, outputs, reduction));
    return rules;
  };
}

// The same where input 2 weighs the rows.
RulesFunction WeighedRowsAndClasses(std::vector<RowPart> inputs, const std::vector<RowPart>& outputs) {
  return [=](const NodeView& node) mutable {
    inputs[2] = PartOfWeight(node, 2, node.inputs[0]->shape.size() - 1);
    return RowsAndClasses(inputs, outputs)(node);
  };
}

FlopsFunction PerLogit(double operations) {
  return [operations](const NodeView& node) { return operations * Count(node.inputs[0]->shape); };
}

}  // namespace

OpDefinition RowMaximumOp() {
  return Op("row_maximum")
      .Inputs({"x"})
      .Constant({"x"})
      .Shape(RowsShape("x", {}, true))
      .Rules(RowsAndClasses({kElements}, {kRows}, Reduction::kMax))
      .Flops(PerLogit(1));
}

OpDefinition RowExponentialsOp() {
  return Op("row_exponentials")
      .Internal()
      .Inputs({"x", "maximum"})
      .Shape(RowsShape("x", {"maximum"}, true))
      .Rules(RowsAndClasses({kElements, kRows}, {kRows}))
      .Gradient(ExponentialsGradient)
      .Flops(PerLogit(3));
}

OpDefinition RowExponentialsGradOp() {
  return Op("row_exponentials_grad")
      .Internal()
      .Inputs({"x", "maximum", "dsum"})
      .Shape(RowsShape("x", {"maximum", "dsum"}, false))
      .Rules(RowsAndClasses({kElements, kRows, kRows}, {kElements}))
      .Flops(PerLogit(3))
      .InPlace(0, 0);
}

OpDefinition SoftmaxNormalizeOp() {
  return Op("softmax_normalize")
      .Internal()
      .Inputs({"x", "maximum", "sum"})
      .Shape(RowsShape("x", {"maximum", "sum"}, false))
      .Rules(RowsAndClasses({kElements, kRows, kRows}, {kElements}))
      .Gradient(SoftmaxNormalizeGradient)
      .Flops(PerLogit(3))
      .InPlace(0, 0);
}

OpDefinition SoftmaxNormalizeGradOp() {
  return Op("softmax_normalize_grad")
      .Internal()
      .Inputs({"y", "dy", "sum"})
      .Shape(GradOfSumShape)
      .Rules(RowsAndClasses({kElements, kElements, kRows}, {kRows}))
      .Flops(PerLogit(2));
}

OpDefinition LogSoftmaxNormalizeOp() {
  return Op("log_softmax_normalize")
      .Internal()
      .Inputs({"x", "maximum", "sum"})
      .Shape(RowsShape("x", {"maximum", "sum"}, false))
      .Rules(RowsAndClasses({kElements, kRows, kRows}, {kElements}))
      .Gradient(NormalizeGradient)
      .Flops(PerLogit(1))
      .InPlace(0, 0);
}

OpDefinition LogSoftmaxNormalizeGradOp() {
  return Op("log_softmax_normalize_grad")
      .Internal()
      .Inputs({"dy", "sum"})
      .Shape(RowsShape("dy", {"sum"}, true))
      .Rules(RowsAndClasses({kElements, kRows}, {kRows}))
      .Flops(PerLogit(1));
}

OpDefinition CrossEntropyOp() {
  return Op("cross_entropy")
      .Internal()
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Inputs({"maximum", "sum"})
      .Attribute("label_smoothing", 0.0)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Shape(CrossEntropyShape)
      .Rules(WeighedRowsAndClasses({kElements, kRows, kSamples, kRows, kRows}, {kWhole}))
      .Gradient(CrossEntropyGradient)
      .Flops(PerLogit(2));
}

OpDefinition CrossEntropyLogitsGradOp() {
  return Op("cross_entropy_logits_grad")
      .Internal()
      .Inputs({"logits", "labels"})
      .Optional("sample_weight")
      .Inputs({"dloss"})
      .Attribute("label_smoothing", 0.0)
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Shape(LogitsGradShape)
      .Rules(WeighedRowsAndClasses({kElements, kRows, kSamples, kWhole}, {kElements}))
      .Flops(PerLogit(1))
      .InPlace(0, 0);
}

OpDefinition CrossEntropySumGradOp() {
  return Op("cross_entropy_sum_grad")
      .Internal()
      .Inputs({"sum", "labels"})
      .Optional("sample_weight")
      .Inputs({"dloss"})
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .OptionalAttribute("ignore_index", int64_t{0})
      .Shape(SumGradShape)
      .Rules([](const NodeView& node) {
        const size_t dimensions = node.inputs[0]->shape.size();
        const RowPart weight = PartOfWeight(node, 2, dimensions);
        return RowRules(static_cast<int>(dimensions) + 1, {kRows, kRows, weight, kWhole}, {kRows});
      })
      .Flops(PerLogit(3))
      .InPlace(0, 0);
}

}  // namespace partita
