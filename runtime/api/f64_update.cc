#include "runtime/api/f64_update.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Roundings by which an update may differ from its rule. An input stands for those of the arithmetic that it enters; a
// scalar that the update phase makes itself (a rate, a clipping factor) is a sum of many terms.
constexpr double kRoundings = 8, kRoundingsOfScalars = 64;

double EpsilonOf(DType dtype) {
  return dtype == DType::kF64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

// Below it a number, or the square of a gradient, may underflow.
double LeastOf(DType dtype, bool squared) {
  const double least = dtype == DType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  return squared ? std::sqrt(least) : least;
}

// All in one direction, so that what is off adds up where a rule sums elements of both signs (statistics of groups).
// `least`: below it a number may underflow. 0 is exact: a rule with norms treats it as a case of its own.
HostTensor Shifted(const HostTensor& tensor, double relative, double least, double uncertain) {
  HostTensor shifted = tensor;
  for (size_t at = 0; at < shifted.bytes.size(); at += sizeof(double)) {
    double element = 0;
    std::memcpy(&element, shifted.bytes.data() + at, sizeof(element));
    element += relative * std::abs(element) + (element == 0 ? 0 : least) + uncertain;
    std::memcpy(shifted.bytes.data() + at, &element, sizeof(element));
  }
  return shifted;
}

std::vector<const HostTensor*> TensorsOf(const std::vector<std::shared_ptr<const ReadValue>>& values) {
  std::vector<const HostTensor*> tensors;
  for (const auto& value : values) tensors.push_back(value == nullptr ? nullptr : &value->tensor);
  return tensors;
}

}  // namespace

F64Update::F64Update(const Graph& serial, const F64Graph& f64, Reader read)
    : serial_(serial), f64_(f64), read_(std::move(read)) {
  for (const State& state : serial.states()) {
    if (state.update != kNoValue) given_.insert(state.update);
    if (state.gradient == kNoValue) continue;
    const std::vector<ValueId>& beside = serial.node(serial.value(state.gradient).producer).outputs;
    given_.insert(beside.begin(), beside.end());
  }
}

bool F64Update::IsRead(ValueId value) const {
  const Node& node = serial_.node(serial_.value(value).producer);
  return given_.contains(value) || node.op->is_state() || node.phase != Phase::kUpdate;
}

bool F64Update::IsOwn(ValueId value) const {
  if (value == kNoValue || IsRead(value)) return false;
  const std::vector<ValueId>& inputs = serial_.node(serial_.value(value).producer).inputs;
  return !serial_.type(value).shape.empty() || std::ranges::any_of(inputs, [&](ValueId v) { return IsOwn(v); });
}

absl::StatusOr<F64Update::Found> F64Update::Find(ValueId value, NodeId reader) {
  if (value == kNoValue) return nullptr;
  if (const auto known = scalars_.find(value); known != scalars_.end()) return known->second;
  ReadValue found;
  if (IsRead(value)) {
    ASSIGN_OR_RETURN(found, read_(value, reader));
  } else {
    ASSIGN_OR_RETURN(const std::vector<Found> inputs, FindInputs(serial_.value(value).producer));
    ASSIGN_OR_RETURN(found.tensor, Compute(value, TensorsOf(inputs)));
  }
  const bool scalar = found.tensor.shape.empty();
  const auto shared = std::make_shared<const ReadValue>(std::move(found));
  if (scalar) scalars_[value] = shared;
  return shared;
}

absl::StatusOr<std::vector<F64Update::Found>> F64Update::FindInputs(NodeId node) {
  std::vector<Found> inputs;
  for (const ValueId input : serial_.node(node).inputs) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), Find(input, node));
  }
  return inputs;
}

absl::Status F64Update::Collect(NodeId node, Cone& cone) {
  for (const ValueId input : serial_.node(node).inputs) {
    if (input == kNoValue || cone.contains(input)) continue;
    if (!IsOwn(input)) {
      ASSIGN_OR_RETURN(cone[input], Find(input, node));
      continue;
    }
    RETURN_IF_ERROR(Collect(serial_.value(input).producer, cone));
    Tensors none;
    ASSIGN_OR_RETURN(HostTensor tensor, ComputeFrom(cone, input, none));
    cone[input] = std::make_shared<const ReadValue>(ReadValue{std::move(tensor), 0});
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> F64Update::ComputeFrom(const Cone& cone, ValueId value, Tensors& replaced) const {
  std::vector<const HostTensor*> inputs;
  for (const ValueId input : serial_.node(serial_.value(value).producer).inputs) {
    if (IsOwn(input) && !replaced.contains(input)) {
      ASSIGN_OR_RETURN(replaced[input], ComputeFrom(cone, input, replaced));
    }
    const auto other = replaced.find(input);
    const auto found = cone.find(input);
    inputs.push_back(other != replaced.end() ? &other->second : found == cone.end() ? nullptr : &found->second->tensor);
  }
  return Compute(value, inputs);
}

absl::StatusOr<HostTensor> F64Update::Compute(ValueId value, const std::vector<const HostTensor*>& inputs) const {
  const NodeId id = serial_.value(value).producer;
  ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, f64_.Compute(id, inputs));
  const std::vector<ValueId>& made = serial_.node(id).outputs;
  return std::move(outputs[static_cast<size_t>(std::ranges::find(made, value) - made.begin())]);
}

absl::StatusOr<ExpectedState> F64Update::After(const State& state) {
  ExpectedState expected;
  if (state.update == kNoValue) {
    ASSIGN_OR_RETURN(const Found before, Find(state.value, -1));
    expected.elements = ToDoubles(before->tensor);
    expected.allowed.assign(expected.elements.size(), 0);
    return expected;
  }
  Cone cone;
  RETURN_IF_ERROR(Collect(serial_.value(state.update).producer, cone));
  Tensors none;
  ASSIGN_OR_RETURN(const HostTensor after, ComputeFrom(cone, state.update, none));
  expected.elements = ToDoubles(after);
  expected.allowed.assign(expected.elements.size(), 0);
  const DType dtype = serial_.type(state.update).dtype;
  if (!IsFloating(dtype)) return expected;
  for (size_t e = 0; e < expected.elements.size(); ++e) {
    expected.allowed[e] = kRoundings * EpsilonOf(dtype) * std::abs(expected.elements[e]);
  }
  for (const auto& [input, found] : cone) {
    if (found->tensor.dtype == DType::kF64) RETURN_IF_ERROR(AllowInput(state.update, input, cone, expected));
  }
  return expected;
}

// By how much the rule changes what it makes where an input is off by its roundings, and by what is not known of it.
absl::Status F64Update::AllowInput(ValueId update, ValueId input, const Cone& cone, ExpectedState& expected) const {
  const ReadValue& exact = *cone.at(input);
  const DType dtype = serial_.type(input).dtype;
  // Statistics are f64, and what is made of them is not.
  const double epsilon = std::max(EpsilonOf(dtype), EpsilonOf(serial_.type(update).dtype));
  const bool element_by_element = IsRead(input) || !serial_.type(input).shape.empty();
  const double relative = (element_by_element ? kRoundings : kRoundingsOfScalars) * epsilon;
  const double least = LeastOf(dtype, /*squared=*/given_.contains(input));
  std::vector<double> largest(expected.elements.size());
  for (const double sign : {1.0, -1.0}) {
    Tensors shifted;
    shifted[input] = Shifted(exact.tensor, sign * relative, sign * least, sign * exact.uncertain);
    ASSIGN_OR_RETURN(const HostTensor after, ComputeFrom(cone, update, shifted));
    const std::vector<double> elements = ToDoubles(after);
    for (size_t e = 0; e < elements.size(); ++e) {
      largest[e] = std::max(largest[e], std::abs(elements[e] - expected.elements[e]));
    }
  }
  for (size_t e = 0; e < largest.size(); ++e) expected.allowed[e] += largest[e];
  return absl::OkStatus();
}

}  // namespace partita
