#include "runtime/api/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

double LargestMagnitude(const std::vector<double>& elements) {
  double largest = 0;
  for (double element : elements) largest = std::max(largest, std::abs(element));
  return largest;
}

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

double Norm(const std::vector<double>& elements) {
  double sum = 0;
  for (double element : elements) sum += element * element;
  return std::sqrt(sum);
}

std::vector<double> Minus(const HostTensor& a, const HostTensor& b) {
  std::vector<double> difference = ToDoubles(a);
  const std::vector<double> subtracted = ToDoubles(b);
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= subtracted[i];
  return difference;
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
  session.observe = true;
  ASSIGN_OR_RETURN(verifier->plan_, Session::Start(std::move(plan), session));
  // One rank has nobody to be late for, and its plan is not what is tested.
  session.delay_seed.reset();
  session.poison = false;
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
  ASSIGN_OR_RETURN(const std::vector<HostTensor> before_serial, ReadStates(*serial_, names));
  for (size_t s = 0; s < names.size() && options_.same_beginning; ++s) {
    RETURN_IF_ERROR(plan_->WriteState(names[s], before_serial[s]));
  }
  ASSIGN_OR_RETURN(const std::vector<HostTensor> before_plan, ReadStates(*plan_, names));
  StepComparison comparison;
  ASSIGN_OR_RETURN(const StepResult serial, serial_->Train());
  ASSIGN_OR_RETURN(const StepResult plan, plan_->Train());
  comparison.serial_loss = serial.loss;
  comparison.loss = plan.loss;
  // Gradients first: what a forward value may differ by depends on their norms.
  StepComparison gradients;
  RETURN_IF_ERROR(CompareGradients(gradients));
  RETURN_IF_ERROR(CompareForward(comparison));
  comparison.tensors.insert(comparison.tensors.end(), gradients.tensors.begin(), gradients.tensors.end());
  RETURN_IF_ERROR(CompareStates(before_serial, before_plan, comparison));
  return comparison;
}

TensorDifference PlanVerifier::Compare(TensorDifference::Kind kind, const std::string& name,
                                       const std::vector<double>& plan, const std::vector<double>& serial) const {
  TensorDifference tensor;
  tensor.kind = kind;
  tensor.name = name;
  tensor.difference = LargestDifference(plan, serial);
  tensor.allowed = options_.tolerance * std::max(LargestMagnitude(serial), options_.floor * gradient_norm_);
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

absl::Status PlanVerifier::CompareForward(StepComparison& comparison) const {
  for (const Forward& value : forward_) {
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(value.serial));
    ASSIGN_OR_RETURN(const WholeValue plan, PlanValue(value, serial.elements.size()));
    comparison.tensors.push_back(
        Compare(TensorDifference::Kind::kForward, value.serial, plan.elements, serial.elements));
    comparison.tensors.back().replicas_equal = plan.replicas_equal;
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareGradients(StepComparison& comparison) {
  std::vector<WholeValue> serial;
  gradient_norm_ = 0;
  for (const Gradient& gradient : gradients_) {
    ASSIGN_OR_RETURN(WholeValue value, serial_->Observed(gradient.serial));
    gradient_norm_ = std::max(gradient_norm_, Norm(value.elements));
    serial.push_back(std::move(value));
  }
  for (size_t g = 0; g < gradients_.size(); ++g) {
    ASSIGN_OR_RETURN(const WholeValue plan, plan_->Observed(gradients_[g].plan));
    comparison.tensors.push_back(
        Compare(TensorDifference::Kind::kGradient, gradients_[g].parameter, plan.elements, serial[g].elements));
    comparison.tensors.back().replicas_equal = plan.replicas_equal;
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareStates(const std::vector<HostTensor>& before_serial,
                                         const std::vector<HostTensor>& before_plan, StepComparison& comparison) const {
  const std::vector<std::string> names = serial_->StateNames();
  for (size_t s = 0; s < names.size(); ++s) {
    ASSIGN_OR_RETURN(const HostTensor serial, serial_->ReadState(names[s]));
    ASSIGN_OR_RETURN(const HostTensor plan, plan_->ReadState(names[s]));
    // From a common beginning the step itself is compared: the states alone would hide a small wrong one.
    comparison.tensors.push_back(
        options_.same_beginning
            ? Compare(TensorDifference::Kind::kUpdate, names[s], Minus(plan, before_plan[s]),
                      Minus(serial, before_serial[s]))
            : Compare(TensorDifference::Kind::kUpdate, names[s], ToDoubles(plan), ToDoubles(serial)));
    ASSIGN_OR_RETURN(comparison.tensors.back().replicas_equal, plan_->ReplicasEqual(names[s]));
  }
  return absl::OkStatus();
}

}  // namespace partita
