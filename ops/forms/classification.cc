#include "ops/forms/classification.h"

#include <limits>
#include <optional>

#include "graph/ir/generated_name.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/rows.h"
#include "ops/forms/sample_weights.h"
#include "runtime/base/status.h"

namespace partita {

namespace {

// Of so many places in each sample, each of which weighs what its sample does.
absl::StatusOr<ValueId> OfPlaces(EntryBuilder& builder, ValueId weight, int64_t places, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> expanded,
                   builder.Add("expand", {weight}, {{"axes", IntList{1}}, {"sizes", IntList{places}}}, {name}));
  return expanded[0];
}

// The node over these values; `weight` is of evaluation: what the rows of each sample count.
absl::StatusOr<std::vector<ValueId>> Reduced(EntryBuilder& builder, const Node& node, std::vector<ValueId> inputs,
                                             ValueId weight, const std::string& name) {
  Attributes attributes = node.attributes;
  if (!attributes.Has("ignore_index") || attributes.String("reduction") == "sum") {
    return builder.Add(node.op->name, std::move(inputs), std::move(attributes), {name});
  }
  attributes.Set("reduction", "sum");
  const Attributes counted = {{"ignore_index", attributes.Int("ignore_index")},
                              {"dtype", std::string(Name(builder.graph().type(inputs[0]).dtype))}};
  ASSIGN_OR_RETURN(const std::vector<ValueId> count,
                   builder.Add("count_labels", {inputs[1], weight}, counted, {name + "@count"}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> sum,
                   builder.Add(node.op->name, std::move(inputs), std::move(attributes), {name}));
  return builder.Add("over", {sum[0], count[0]}, {}, {name + "@mean"});
}

absl::Status CheckIgnoredLabel(const Attributes& attributes) {
  using Label = std::numeric_limits<int32_t>;
  if (!attributes.Has("ignore_index")) return absl::OkStatus();
  const int64_t label = attributes.Int("ignore_index");
  if (label >= Label::min() && label <= Label::max()) return absl::OkStatus();
  return InvalidArgument("attribute ignore_index is {}; {} to {} are allowed", label, Label::min(), Label::max());
}

}  // namespace

absl::Status CheckSampleWeight(const NodeView& node, int index, const Shape& rows) {
  const TensorType* const weight = node.inputs[index];
  if (weight == nullptr || weight->shape.size() < 2 || rows.size() < 2) {
    return CheckLike(node, index, "sample_weight", {rows[0]}, "one for each sample of logits");
  }
  return CheckLike(node, index, "sample_weight", rows, "one for each row of logits");
}

RowPart PartOfWeight(const NodeView& node, int index, size_t dimensions) {
  const TensorType* const weight = node.inputs[index];
  return weight != nullptr && weight->shape.size() == dimensions ? RowPart::kRows : RowPart::kSamples;
}

absl::Status CheckClassifier(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "logits"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  RETURN_IF_ERROR(CheckChoice(node.attributes, "reduction", {"mean", "sum"}));
  RETURN_IF_ERROR(CheckIgnoredLabel(node.attributes));
  RETURN_IF_ERROR(CheckRank(node, 0, "logits", {2, 3}, "[n,classes] or [n,t,classes]"));
  const Shape& logits = node.inputs[0]->shape;
  RETURN_IF_ERROR(CheckDType(node, 1, "labels", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 1, "labels", RowsOf(logits), "one for each row of logits"));
  return CheckSampleWeight(node, 2, RowsOf(logits));
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

absl::StatusOr<ValueId> EvaluationWeight(EntryBuilder& builder, ValueId values, ValueId labels, ValueId own,
                                         const std::string& name) {
  std::optional<SampleRows> samples = builder.SamplesOf(values);
  if (!samples && labels != kNoValue) samples = builder.SamplesOf(labels);
  if (!samples || samples->dimension != 0) return own;
  ASSIGN_OR_RETURN(ValueId weight, WeightsOfRows(builder, values, *samples));
  if (own == kNoValue) return weight;
  const Shape shape = builder.graph().type(own).shape;
  if (shape.size() > 1) {
    ASSIGN_OR_RETURN(weight, OfPlaces(builder, weight, shape[1], name + kSampleWeightName + "@of_places"));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> both, builder.Add("mul", {own, weight}, {}, {name + kSampleWeightName}));
  return both[0];
}

absl::StatusOr<std::vector<ValueId>> WithCountedLabels(EntryBuilder& builder, const Node& node,
                                                       const std::string& name) {
  return Reduced(builder, node, node.inputs, kNoValue, name);
}

absl::StatusOr<std::vector<ValueId>> WithSampleWeight(EntryBuilder& builder, const Node& node,
                                                      const std::string& name) {
  const ValueId logits = node.inputs[0], labels = node.inputs[1], own = node.inputs[2];
  ASSIGN_OR_RETURN(const ValueId of_samples, EvaluationWeight(builder, logits, labels, kNoValue, name));
  ASSIGN_OR_RETURN(const ValueId weight, EvaluationWeight(builder, logits, labels, own, name));
  return Reduced(builder, node, {logits, labels, weight}, of_samples, name);
}

Decomposition SoftmaxPieces(const std::string& op) {
  return {kClassSplit, {{"row_maximum", "maximum"}, {"row_exponentials", "exponentials"}}, op};
}

std::vector<Rule> RowsToScalar(const NodeView& node) {
  using enum RowPart;
  const size_t rank = node.inputs[0]->shape.size();
  return RowRules(static_cast<int>(rank), {kElements, kRows, PartOfWeight(node, 2, rank - 1)}, {kWhole});
}

}  // namespace partita
