// The cross entropy of a classifier of many classes, of which training computes a few: those of the labels, and
// `samples` others, drawn anew for each step and shared by the whole batch.
//
//   sampled_softmax_cross_entropy(x, weights, bias, labels, sample_weight?) samples    scalar
//       x [n,h] or [n,t,h], weights [classes,h], bias [classes], labels and sample_weight as in softmax_cross_entropy
//
// In training it stands for (names with the node's before '@')
//   @ids, @draws = log_uniform_ids(iteration)         [samples], and how many draws had so many different classes
//   @sampled, @of_labels = embedding(weights, ids or labels)       and of the bias, whose gradient is dense
//   sampled_cross_entropy(x @of_labels + ..., x @sampled^T + ..., labels, @ids, @draws, sample_weight?)
// in evaluation for the product with all weights and softmax_cross_entropy.
//
//   sampled_cross_entropy_grad(own, logits, labels, ids, draws, sample_weight?, dloss) -> down, dlogits
//
// The arithmetic is that of TensorFlow's sampled_softmax_loss (ops/functors/sampled_softmax.h).
#include "ops/definitions/rows/row_definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum RowPart;

absl::Status CheckSamples(int64_t samples, int64_t classes) {
  if (samples >= 1 && samples <= classes / 2) return absl::OkStatus();
  return InvalidArgument("attribute samples is {}; it must be at least 1 and at most half of the {} classes", samples,
                         classes);
}

absl::StatusOr<std::vector<TensorType>> CompositeShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {2, 3}, "[n,h] or [n,t,h]"));
  RETURN_IF_ERROR(CheckRank(node, 1, "weights", {2}, "[classes,h]"));
  const TensorType& x = *node.inputs[0];
  const int64_t classes = node.inputs[1]->shape[0];
  RETURN_IF_ERROR(CheckLike(node, 1, "weights", {classes, x.shape.back()}, "[classes,h]"));
  RETURN_IF_ERROR(CheckLike(node, 2, "bias", {classes}, "one for each class"));
  RETURN_IF_ERROR(CheckDType(node, 3, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 3, "labels", RowsOf(x.shape), "one for each row of x"));
  RETURN_IF_ERROR(CheckSampleWeight(node, 4, RowsOf(x.shape)));
  RETURN_IF_ERROR(CheckChoice(node.attributes, "reduction", {"mean", "sum"}));
  RETURN_IF_ERROR(CheckSamples(node.attributes.Int("samples"), classes));
  return std::vector<TensorType>{{x.dtype, {}}};
}

std::vector<Rule> CompositeRules(const NodeView& node) {
  const size_t rank = node.inputs[0]->shape.size();
  return RowRules(static_cast<int>(rank), {kElements, kWhole, kWhole, kRows, PartOfWeight(node, 4, rank - 1)},
                  {kWhole});
}

absl::StatusOr<std::vector<TensorType>> IdsShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckSamples(node.attributes.Int("samples"), node.attributes.Int("classes")));
  RETURN_IF_ERROR(CheckDType(node, 0, "iteration", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 0, "iteration", {}, "the step's number"));
  return std::vector<TensorType>{{DType::kI32, {node.attributes.Int("samples")}}, {DType::kI32, {}}};
}

absl::Status CheckSampled(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "own"));
  RETURN_IF_ERROR(CheckRank(node, 0, "own", {1, 2}, "[n] or [n,t]"));
  RETURN_IF_ERROR(CheckDType(node, 3, "ids", DType::kI32));
  RETURN_IF_ERROR(CheckRank(node, 3, "ids", {1}, "[samples]"));
  const Shape& rows = node.inputs[0]->shape;
  Shape logits = rows;
  logits.push_back(node.inputs[3]->shape[0]);
  RETURN_IF_ERROR(CheckLike(node, 1, "logits", logits, "one for each row and sample"));
  RETURN_IF_ERROR(CheckDType(node, 2, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 2, "labels", rows, "one for each row"));
  RETURN_IF_ERROR(CheckDType(node, 4, "draws", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 4, "draws", {}, "a scalar"));
  RETURN_IF_ERROR(CheckSampleWeight(node, 5, rows));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "classes", 2));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  return CheckChoice(node.attributes, "reduction", {"mean", "sum"});
}

absl::StatusOr<std::vector<TensorType>> SampledShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckSampled(node));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

absl::StatusOr<std::vector<TensorType>> SampledGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckSampled(node));
  RETURN_IF_ERROR(CheckLike(node, 6, "dloss", {}, "a scalar"));
  return std::vector<TensorType>{*node.inputs[0], *node.inputs[1]};
}

std::vector<Rule> SampledRules(const NodeView& node, const std::vector<RowPart>& outputs) {
  const size_t dimensions = node.inputs[0]->shape.size();
  std::vector<RowPart> inputs = {kRows, kElements, kRows, kWhole, kWhole, PartOfWeight(node, 5, dimensions)};
  inputs.resize(node.inputs.size(), kWhole);
  return RowRules(static_cast<int>(dimensions) + 1, inputs, outputs);
}

absl::StatusOr<std::vector<ValueId>> SampledGradient(GradientBuilder& builder, const Node& node,
                                                     const std::vector<ValueId>& cotangents,
                                                     const std::vector<bool>& wanted) {
  std::vector<ValueId> result(6, kNoValue);
  if (!wanted[0] && !wanted[1]) return result;
  std::vector<ValueId> inputs = node.inputs;
  inputs.push_back(cotangents[0]);
  ASSIGN_OR_RETURN(const std::vector<ValueId> gradients, builder.Add("sampled_cross_entropy_grad", std::move(inputs),
                                                                     node.attributes, InputName(builder, node, 1)));
  if (wanted[0]) result[0] = gradients[0];
  if (wanted[1]) result[1] = gradients[1];
  return result;
}

// What a node stands for, one op after the other.
class Expansion {
 public:
  Expansion(EntryBuilder& builder, const Node& node, const std::string& name)
      : builder_(builder), node_(node), name_(name) {}

  absl::StatusOr<std::vector<ValueId>> InTraining() {
    const int64_t classes = TypeOf(node_.inputs[1]).shape[0];
    const Attributes drawn = {{"samples", node_.attributes.Int("samples")}, {"classes", classes}, {"key", name_}};
    ASSIGN_OR_RETURN(const std::vector<ValueId> ids, builder_.Add("log_uniform_ids", {builder_.iteration()}, drawn,
                                                                  {name_ + "@ids", name_ + "@draws"}));
    ASSIGN_OR_RETURN(const ValueId bias, Add("reshape", {node_.inputs[2]}, {{"shape", IntList{classes, 1}}}, "@bias"));
    ASSIGN_OR_RETURN(const ValueId logits, OfSamples(ids[0], bias));
    ASSIGN_OR_RETURN(const ValueId own, OfLabels(bias));
    const Attributes attributes = {{"classes", classes}, {"reduction", node_.attributes.String("reduction")}};
    return builder_.Add("sampled_cross_entropy", {own, logits, node_.inputs[3], ids[0], ids[1], node_.inputs[4]},
                        attributes, {name_});
  }

  absl::StatusOr<std::vector<ValueId>> InEvaluation() {
    ASSIGN_OR_RETURN(const ValueId products,
                     Add("matmul", {node_.inputs[0], node_.inputs[1]}, {{"transpose_w", true}}, "@products"));
    ASSIGN_OR_RETURN(const ValueId logits, Add("bias", {products, node_.inputs[2]}, {}, "@logits"));
    ASSIGN_OR_RETURN(const ValueId weight,
                     EvaluationWeight(builder_, node_.inputs[0], node_.inputs[3], node_.inputs[4], name_));
    return builder_.Add("softmax_cross_entropy", {logits, node_.inputs[3], weight},
                        {{"reduction", node_.attributes.String("reduction")}}, {name_});
  }

 private:
  TensorType TypeOf(ValueId value) const { return builder_.graph().type(value); }

  absl::StatusOr<ValueId> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                              const std::string& name) {
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                     builder_.Add(op, std::move(inputs), std::move(attributes), {name_ + name}));
    return outputs[0];
  }

  Attributes ByRows() const { return {{"row_gradients", node_.attributes.Bool("row_gradients")}}; }

  absl::StatusOr<ValueId> OfSamples(ValueId ids, ValueId bias) {
    ASSIGN_OR_RETURN(const ValueId weights, Add("embedding", {node_.inputs[1], ids}, ByRows(), "@sampled"));
    ASSIGN_OR_RETURN(const ValueId column, Add("embedding", {bias, ids}, {}, "@sampled_bias"));
    ASSIGN_OR_RETURN(const ValueId of_samples,
                     Add("reshape", {column}, {{"shape", TypeOf(ids).shape}}, "@bias_of_samples"));
    ASSIGN_OR_RETURN(const ValueId products,
                     Add("matmul", {node_.inputs[0], weights}, {{"transpose_w", true}}, "@products"));
    return Add("bias", {products, of_samples}, {}, "@logits");
  }

  absl::StatusOr<ValueId> OfLabels(ValueId bias) {
    const Shape rows = TypeOf(node_.inputs[3]).shape;
    const IntList last = {static_cast<int64_t>(rows.size())};
    ASSIGN_OR_RETURN(const ValueId weights,
                     Add("embedding", {node_.inputs[1], node_.inputs[3]}, ByRows(), "@of_labels"));
    ASSIGN_OR_RETURN(const ValueId column, Add("embedding", {bias, node_.inputs[3]}, {}, "@label_bias"));
    ASSIGN_OR_RETURN(const ValueId products, Add("mul", {node_.inputs[0], weights}, {}, "@label_products"));
    ASSIGN_OR_RETURN(const ValueId sums, Add("sum", {products}, {{"axes", last}}, "@label_sums"));
    ASSIGN_OR_RETURN(const ValueId of_labels, Add("sum", {column}, {{"axes", last}}, "@bias_of_labels"));
    return Add("add", {sums, of_labels}, {}, "@own");
  }

  EntryBuilder& builder_;
  const Node& node_;
  const std::string& name_;
};

}  // namespace

OpDefinition SampledSoftmaxCrossEntropyOp() {
  return Op("sampled_softmax_cross_entropy")
      .Inputs({"x"})
      .Parameters({"weights", "bias"})
      .Inputs({"labels"})
      .Optional("sample_weight")
      .Constant({"sample_weight"})
      .Required("samples", int64_t{0})
      .Attribute("reduction", "mean")
      .Attribute("row_gradients", true)
      .Shape(CompositeShape)
      .Rules(CompositeRules)
      .InTraining([](EntryBuilder& builder, const Node& node, const std::string& name) {
        return Expansion(builder, node, name).InTraining();
      })
      .InEvaluation([](EntryBuilder& builder, const Node& node, const std::string& name) {
        return Expansion(builder, node, name).InEvaluation();
      });
}

OpDefinition LogUniformIdsOp() {
  return Op("log_uniform_ids")
      .Internal()
      .Inputs({"iteration"})
      .Outputs(2)
      .Required("samples", int64_t{0})
      .Required("classes", int64_t{0})
      .Required("key", "")
      .Shape(IdsShape);
}

OpDefinition SampledCrossEntropyOp() {
  return Op("sampled_cross_entropy")
      .Internal()
      .Inputs({"own", "logits", "labels", "ids", "draws"})
      .Optional("sample_weight")
      .Constant({"sample_weight"})
      .Required("classes", int64_t{0})
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .Shape(SampledShape)
      .Rules([](const NodeView& node) { return SampledRules(node, {kWhole}); })
      .Gradient(SampledGradient)
      .Flops([](const NodeView& node) { return 5 * Count(node.inputs[1]->shape); });
}

OpDefinition SampledCrossEntropyGradOp() {
  return Op("sampled_cross_entropy_grad")
      .Internal()
      .Inputs({"own", "logits", "labels", "ids", "draws"})
      .Optional("sample_weight")
      .Inputs({"dloss"})
      .Outputs(2)
      .Required("classes", int64_t{0})
      .Attribute("batch", int64_t{0})
      .Attribute("reduction", "mean")
      .Shape(SampledGradShape)
      .Rules([](const NodeView& node) {
        return SampledRules(node, {kRows, kElements});
      })
      .Flops([](const NodeView& node) { return 6 * Count(node.inputs[1]->shape); });
}

}  // namespace partita
