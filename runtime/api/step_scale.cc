#include "runtime/api/step_scale.h"

#include <algorithm>
#include <cmath>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

double Norm(const std::vector<double>& elements) {
  double sum = 0;
  for (double element : elements) sum += element * element;
  return std::sqrt(sum);
}

// How many of its inputs a node goes on from.
size_t FollowedInputs(const Node& node) {
  return node.op->variadic ? node.inputs.size() : std::min<size_t>(node.inputs.size(), 1);
}

}  // namespace

double LargestMagnitude(const std::vector<double>& elements) {
  double largest = 0;
  for (const double element : elements) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  return largest;
}

std::vector<double> Change(const HostTensor& before, const HostTensor& after) {
  std::vector<double> change = ToDoubles(after);
  const std::vector<double> subtracted = ToDoubles(before);
  for (size_t i = 0; i < change.size(); ++i) change[i] -= subtracted[i];
  return change;
}

absl::StatusOr<StepScale> StepScale::Of(const Session& serial, const std::vector<HostTensor>& before,
                                        const std::vector<HostTensor>& after) {
  StepScale scale(serial);
  scale.largest_.resize(scale.graph_.values().size());
  scale.forward_.resize(scale.graph_.values().size());
  for (const Node& node : scale.graph_.nodes()) RETURN_IF_ERROR(scale.AddNode(node));
  const std::vector<State>& states = scale.graph_.states();
  for (size_t s = 0; s < states.size(); ++s) {
    if (!serial.IsParameter(scale.graph_.value(states[s].value).name)) continue;
    RETURN_IF_ERROR(scale.AddParameter(states[s], Norm(Change(before[s], after[s]))));
  }
  return scale;
}

absl::Status StepScale::AddNode(const Node& node) {
  for (const ValueId output : node.outputs) {
    if (!IsFloating(graph_.type(output).dtype)) continue;
    ASSIGN_OR_RETURN(const WholeValue value, serial_.Observed(graph_.value(output).name));
    largest_[output] = forward_[output] = LargestMagnitude(value.elements);
    for (size_t i = 0; i < FollowedInputs(node); ++i) {
      if (node.inputs[i] != kNoValue) forward_[output] = std::max(forward_[output], forward_[node.inputs[i]]);
    }
    if (node.phase == Phase::kBackward) backward_ = std::max(backward_, Norm(value.elements));
  }
  return absl::OkStatus();
}

absl::Status StepScale::AddParameter(const State& state, double change) {
  if (state.gradient == kNoValue) return absl::OkStatus();
  ASSIGN_OR_RETURN(const WholeValue value, serial_.Observed(graph_.value(state.gradient).name));
  gradient_ = std::max(gradient_, Norm(value.elements));
  change_ = std::max(change_, change);
  return absl::OkStatus();
}

double StepScale::Forward(const std::string& value) const { return forward_[graph_.Find(value)]; }

bool StepScale::ReadsGradient(const Node& node) const {
  return std::ranges::any_of(graph_.states(), [&](const State& state) {
    return state.gradient != kNoValue && std::ranges::count(node.inputs, state.gradient) > 0;
  });
}

double StepScale::Update(const std::string& state) const {
  const ValueId value = graph_.Find(state);
  for (const State& known : graph_.states()) {
    if (known.value != value || known.update == kNoValue) continue;
    const Node& node = graph_.node(graph_.value(known.update).producer);
    if (ReadsGradient(node)) {
      if (!serial_.IsParameter(state)) return backward_;
      return gradient_ == 0 ? backward_ : backward_ * (change_ / gradient_);
    }
    double largest = 0;
    for (const ValueId output : node.outputs) largest = std::max(largest, largest_[output]);
    // An average follows the state that it is of.
    for (const State& of : graph_.states()) {
      const bool read = of.update != kNoValue && std::ranges::find(node.inputs, of.update) != node.inputs.end();
      if (read) largest = std::max(largest, Update(graph_.value(of.value).name));
    }
    return largest;
  }
  return 0;
}

}  // namespace partita
