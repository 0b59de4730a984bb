#include "runtime/api/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "runtime/api/step_scale.h"
#include "runtime/api/undecided.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Infinite where one of the two is not finite, or the sizes differ.
double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

// What adding to a state, and making what is added, may take from it.
double RoundingOf(const HostTensor& state) {
  if (!IsFloating(state.dtype)) return 0;
  const bool wide = state.dtype == DType::kF64;
  const double epsilon = wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return 2 * epsilon * LargestMagnitude(ToDoubles(state));
}

absl::StatusOr<std::vector<HostTensor>> ReadStates(const Session& session, const std::vector<std::string>& names) {
  std::vector<HostTensor> states;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    states.push_back(std::move(state));
  }
  return states;
}

double Excess(const TensorDifference& tensor) {
  if (!tensor.replicas_equal) return std::numeric_limits<double>::infinity();
  if (tensor.difference == 0) return 0;
  return tensor.allowed == 0 ? std::numeric_limits<double>::infinity() : tensor.difference / tensor.allowed;
}

// The values of `plan` that are `name`, which an op makes in the serial graph: one, one of each micro-batch, or none. A
// plan may make it by another op (a loss over split classes).
std::vector<std::string> TwinsOf(const std::string& name, const Graph& plan) {
  const auto same = [&](const std::string& twin) {
    const ValueId value = plan.Find(twin);
    return value != kNoValue && !plan.node(plan.value(value).producer).op->move;
  };
  if (same(name)) return {name};
  std::vector<std::string> twins;
  while (same(MicroBatchName(name, static_cast<int64_t>(twins.size())))) {
    twins.push_back(MicroBatchName(name, static_cast<int64_t>(twins.size())));
  }
  return twins;
}

}  // namespace

std::string ToString(const TensorDifference& difference) {
  using Kind = TensorDifference::Kind;
  const char* const what = difference.kind == Kind::kForward    ? "value"
                           : difference.kind == Kind::kGradient ? "gradient of"
                                                                : "update of";
  const std::string name = fmt::format("{} '{}'", what, difference.name);
  if (!difference.replicas_equal) return name + ": ranks that should hold the same bits do not";
  return fmt::format("{}: differs by {:.3g}, allowed is {:.3g}", name, difference.difference, difference.allowed);
}

const TensorDifference* StepComparison::First() const {
  const auto first = std::find_if(tensors.begin(), tensors.end(), [](const auto& tensor) { return !tensor.agrees(); });
  return first == tensors.end() ? nullptr : &*first;
}

const TensorDifference* StepComparison::Worst() const {
  const auto worst = std::max_element(tensors.begin(), tensors.end(),
                                      [](const auto& a, const auto& b) { return Excess(a) < Excess(b); });
  return worst == tensors.end() ? nullptr : &*worst;
}

absl::StatusOr<std::unique_ptr<PlanVerifier>> PlanVerifier::Start(Program serial, Program plan,
                                                                  const VerifyPlanOptions& options) {
  if (serial.ranks() != 1) return InvalidArgument("the serial program has {} ranks", serial.ranks());
  std::unique_ptr<PlanVerifier> verifier(new PlanVerifier(options));
  SessionOptions session = options.session;
  session.tests.observe = true;
  ASSIGN_OR_RETURN(verifier->plan_, Session::Start(std::move(plan), session));
  // One rank has nobody to be late for, and its plan is not what is tested.
  session.tests.delay_seed.reset();
  session.tests.poison = false;
  session.memory_limit = 0;
  ASSIGN_OR_RETURN(verifier->serial_, Session::Start(std::move(serial), session));
  RETURN_IF_ERROR(verifier->MatchNames());
  return verifier;
}

absl::Status PlanVerifier::MatchNames() {
  const Graph& serial = serial_->graph(kTrainEntry);
  const Graph& plan = plan_->graph(kTrainEntry);
  for (const Node& node : serial.nodes()) {
    if (node.phase != Phase::kForward || node.op->move) continue;
    for (ValueId output : node.outputs) {
      const std::vector<std::string> twins = TwinsOf(serial.value(output).name, plan);
      if (!twins.empty()) forward_.push_back({serial.value(output).name, twins});
    }
  }
  for (const State& state : serial.states()) {
    const std::string& name = serial.value(state.value).name;
    if (state.gradient == kNoValue) continue;
    for (const State& twin : plan.states()) {
      if (plan.value(twin.value).name != name) continue;
      if (twin.gradient == kNoValue) return Internal("the plan has no gradient of '{}'", name);
      gradients_.push_back({name, serial.value(state.gradient).name, plan.value(twin.gradient).name});
    }
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::StageInput(const std::string& name, const HostTensor& whole) {
  RETURN_IF_ERROR(serial_->StageInput(kTrainEntry, name, whole));
  return plan_->StageInput(kTrainEntry, name, whole);
}

absl::StatusOr<StepComparison> PlanVerifier::Step() {
  const std::vector<std::string> names = serial_->StateNames();
  States of_serial, of_plan;
  ASSIGN_OR_RETURN(of_serial.before, ReadStates(*serial_, names));
  for (size_t s = 0; s < names.size() && options_.same_beginning; ++s) {
    RETURN_IF_ERROR(plan_->WriteState(names[s], of_serial.before[s]));
  }
  ASSIGN_OR_RETURN(of_plan.before, ReadStates(*plan_, names));
  StepComparison comparison;
  ASSIGN_OR_RETURN(const StepResult serial, serial_->Train());
  ASSIGN_OR_RETURN(const StepResult plan, plan_->Train());
  comparison.serial_loss = serial.loss;
  comparison.loss = plan.loss;
  ASSIGN_OR_RETURN(of_serial.after, ReadStates(*serial_, names));
  ASSIGN_OR_RETURN(of_plan.after, ReadStates(*plan_, names));
  ASSIGN_OR_RETURN(const StepScale scale, StepScale::Of(*serial_, of_serial.before, of_serial.after));
  RETURN_IF_ERROR(CompareForward(scale, comparison));
  RETURN_IF_ERROR(CompareGradients(scale, comparison));
  RETURN_IF_ERROR(CompareStates(scale, of_serial, of_plan, comparison));
  return comparison;
}

absl::Status PlanVerifier::Diagnose() {
  RETURN_IF_ERROR(serial_->Diagnose());
  return plan_->Diagnose();
}

TensorDifference PlanVerifier::Compare(TensorDifference::Kind kind, const std::string& name,
                                       const std::vector<double>& plan, const std::vector<double>& serial,
                                       double rest_of) const {
  TensorDifference tensor;
  tensor.kind = kind;
  tensor.name = name;
  tensor.difference = LargestDifference(plan, serial);
  tensor.allowed = options_.tolerance * std::max(LargestMagnitude(serial), options_.floor * rest_of);
  return tensor;
}

// Micro-batches follow each other in the first dimension; what has the whole value's size is a part of a sum.
absl::StatusOr<WholeValue> PlanVerifier::PlanValue(const Forward& value, size_t elements) const {
  ASSIGN_OR_RETURN(WholeValue whole, plan_->Observed(value.plan[0]));
  const bool summed = value.plan.size() > 1 && whole.elements.size() == elements;
  for (size_t m = 1; m < value.plan.size(); ++m) {
    ASSIGN_OR_RETURN(const WholeValue part, plan_->Observed(value.plan[m]));
    whole.replicas_equal = whole.replicas_equal && part.replicas_equal;
    if (summed) {
      for (size_t i = 0; i < elements; ++i) whole.elements[i] += part.elements[i];
    } else {
      whole.elements.insert(whole.elements.end(), part.elements.begin(), part.elements.end());
    }
  }
  return whole;
}

absl::Status PlanVerifier::AllowUndecided(const Node& node, const StepComparison& comparison,
                                          TensorDifference& accuracy) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  std::vector<WholeValue> inputs;  // logits, labels, weights
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) break;
    ASSIGN_OR_RETURN(WholeValue value, serial_->Observed(graph.value(input).name));
    inputs.push_back(std::move(value));
  }
  double error = options_.tolerance * LargestMagnitude(inputs[0].elements);
  for (const TensorDifference& tensor : comparison.tensors) {
    if (tensor.name == graph.value(node.inputs[0]).name) error = tensor.allowed;
  }
  const int64_t batch = node.attributes.Int("batch"), samples = batch == 0 ? inputs[0].shape[0] : batch;
  accuracy.allowed = UndecidedAccuracy(inputs[0], inputs[1], inputs.size() > 2 ? &inputs[2] : nullptr,
                                       static_cast<double>(samples), 2 * error);
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareForward(const StepScale& scale, StepComparison& comparison) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  for (const Forward& value : forward_) {
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(value.serial));
    ASSIGN_OR_RETURN(const WholeValue plan, PlanValue(value, serial.elements.size()));
    const Node& node = graph.node(graph.value(graph.Find(value.serial)).producer);
    // A state follows from what earlier steps added to it.
    const double added = node.inputs.empty() ? scale.Update(value.serial) : 0;
    TensorDifference tensor = Compare(TensorDifference::Kind::kForward, value.serial, plan.elements, serial.elements,
                                      std::max(scale.Forward(value.serial), added));
    if (node.op->role == Role::kAccuracy) RETURN_IF_ERROR(AllowUndecided(node, comparison, tensor));
    tensor.replicas_equal = plan.replicas_equal;
    comparison.tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareStates(const StepScale& scale, const States& serial, const States& plan,
                                         StepComparison& comparison) const {
  const std::vector<std::string> names = serial_->StateNames();
  for (size_t s = 0; s < names.size(); ++s) {
    // From a common beginning the step itself is compared: the states alone would hide a small wrong one.
    const auto compared = [&](const States& of) {
      return options_.same_beginning ? Change(of.before[s], of.after[s]) : ToDoubles(of.after[s]);
    };
    comparison.tensors.push_back(
        Compare(TensorDifference::Kind::kUpdate, names[s], compared(plan), compared(serial), scale.Update(names[s])));
    comparison.tensors.back().allowed += RoundingOf(serial.after[s]);
    ASSIGN_OR_RETURN(comparison.tensors.back().replicas_equal, plan_->ReplicasEqual(names[s]));
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareGradients(const StepScale& scale, StepComparison& comparison) const {
  for (const Gradient& gradient : gradients_) {
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(gradient.serial));
    ASSIGN_OR_RETURN(const WholeValue plan, plan_->Observed(gradient.plan));
    comparison.tensors.push_back(Compare(TensorDifference::Kind::kGradient, gradient.parameter, plan.elements,
                                         serial.elements, scale.Backward()));
    comparison.tensors.back().replicas_equal = plan.replicas_equal;
  }
  return absl::OkStatus();
}

}  // namespace partita
