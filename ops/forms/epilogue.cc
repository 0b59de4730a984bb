#include "ops/forms/epilogue.h"

#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/functors/epilogue.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int kBias = 2;

bool HasBias(const NodeView& node) { return node.inputs.size() > kBias && node.inputs[kBias] != nullptr; }

bool HasActivation(const NodeView& node) { return !node.attributes.String("activation").empty(); }

}  // namespace

absl::Status CheckEpilogue(const NodeView& node, const TensorType& y) {
  if (HasActivation(node)) RETURN_IF_ERROR(CheckChoice(node.attributes, "activation", NamesOf(EpilogueOps())));
  if (!HasBias(node)) return absl::OkStatus();
  RETURN_IF_ERROR(CheckDType(node, kBias, "bias", AccumulatorOf(y.dtype)));
  return CheckShape(node, kBias, "bias", {y.shape.back()}, "one number for each output channel");
}

std::vector<Rule> EpilogueRules(const std::vector<Rule>& product) {
  std::vector<Rule> rules;
  for (Rule rule : product) {
    if (rule.outputs[0].kind != AxisLayout::Kind::kSplit) continue;
    rule.inputs.push_back(rule.name == "output_channels" ? S(0, rule.outputs[0].unit) : R());
    rules.push_back(std::move(rule));
  }
  return rules;
}

double EpilogueFlops(const NodeView& node) {
  const double passes = (HasBias(node) ? 1 : 0) + (HasActivation(node) ? 1 : 0);
  return passes * Count(node.outputs[0].shape);
}

}  // namespace partita
