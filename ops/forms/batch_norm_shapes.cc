#include "ops/forms/batch_norm_shapes.h"

#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A split of dimension `d` of the elements; the groups have `unit` samples where the samples are split by group.
struct ElementSplit {
  int dimension = 0;
  int64_t unit = 1;
  bool channels = false;
  bool by_group = false;
};

// `other` is what a part gets that this split does not cut.
Pattern SplitPart(BatchNormPart part, const ElementSplit& split, Pattern other) {
  if (part == BatchNormPart::kElements) return S(split.dimension, split.unit);
  const bool statistics = part == BatchNormPart::kStatistics;
  if (split.channels) return S(statistics ? 2 : 0);
  return split.by_group && statistics ? S(0) : other;
}

}  // namespace

absl::StatusOr<BatchGroups> GroupsOf(const Attributes& attributes, const char* attribute, const Shape& x) {
  RETURN_IF_ERROR(CheckAtLeast(attributes, attribute, 0));
  const int64_t samples = attributes.Int(attribute);
  if (samples > 0 && x[0] % samples != 0) {
    return InvalidArgument("attribute {} is {}; it must divide the {} samples of the batch (0: the whole batch)",
                           attribute, samples, x[0]);
  }
  BatchGroups result;
  result.samples = samples == 0 ? x[0] : samples;
  result.groups = x[0] / result.samples;
  result.elements = result.samples;
  for (size_t d = 1; d + 1 < x.size(); ++d) result.elements *= x[d];
  return result;
}

BatchGroups InferredGroups(const NodeView& node) {
  const absl::StatusOr<BatchGroups> groups = GroupsOf(node.attributes, "samples", node.inputs[0]->shape);
  CHECK(groups.ok());
  return *groups;
}

absl::Status CheckBatchNormX(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  return CheckRank(node, 0, "x", {2, 4}, "[n,c] or [n,h,w,c]");
}

absl::Status CheckStatistics(const NodeView& node, int index, const std::string& name) {
  const Shape& x = node.inputs[0]->shape;
  ASSIGN_OR_RETURN(const BatchGroups groups, GroupsOf(node.attributes, "samples", x));
  RETURN_IF_ERROR(CheckDType(node, index, name, kStatisticsType));
  return CheckShape(node, index, name, StatisticsShape(groups, x), "two sums for each group and channel");
}

absl::Status CheckChannelVectors(const NodeView& node, int first, const std::vector<std::string>& names) {
  const TensorType& x = *node.inputs[0];
  return CheckVectors(node, first, names, x.shape.back(), AccumulatorOf(x.dtype));
}

absl::Status CheckVectors(const NodeView& node, int first, const std::vector<std::string>& names, int64_t channels,
                          DType dtype) {
  for (size_t i = 0; i < names.size(); ++i) {
    const int index = first + static_cast<int>(i);
    RETURN_IF_ERROR(CheckDType(node, index, names[i], dtype));
    RETURN_IF_ERROR(CheckShape(node, index, names[i], {channels}, "one number for each channel of x"));
  }
  return absl::OkStatus();
}

Shape StatisticsShape(const BatchGroups& groups, const Shape& x) { return {groups.groups, 2, x.back()}; }

std::vector<Rule> BatchNormRules(const NodeView& node, const std::vector<BatchNormPart>& inputs,
                                 const std::vector<BatchNormPart>& outputs) {
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  const BatchGroups groups = InferredGroups(node);
  std::vector<Rule> rules;
  for (int d = 0; d < rank; ++d) {
    const bool by_group = d == 0 && groups.groups > 1;
    const ElementSplit split{d, by_group ? groups.samples : 1, d == rank - 1, by_group};
    Rule rule{DimensionName(rank, d), {}, {}};
    for (const BatchNormPart part : inputs) rule.inputs.push_back(SplitPart(part, split, R()));
    for (const BatchNormPart part : outputs) rule.outputs.push_back(SplitPart(part, split, P()));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<Rule> WholeGroupRules(const NodeView& node, const std::vector<BatchNormPart>& inputs,
                                  const std::vector<BatchNormPart>& outputs) {
  std::vector<Rule> rules = BatchNormRules(node, inputs, outputs);
  const bool by_group = InferredGroups(node).groups > 1;
  rules.erase(rules.begin() + (by_group ? 1 : 0), rules.end() - 1);
  return rules;
}

}  // namespace partita
