// What PlanVerifier compares after a step of both runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "graph/ir/op_definition.h"
#include "runtime/api/f64_update.h"
#include "runtime/api/reference_walk.h"
#include "runtime/api/step_scale.h"
#include "runtime/api/undecided.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Kind = TensorDifference::Kind;
using Pair = TensorDifference::Pair;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundingsOfSums = 64;
constexpr char kQuotient[] = "over";  // what an accuracy may be divided by is a value of the graph

// Infinite where one of the two is not finite and not what the other is, or the sizes differ.
double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return kInfinity;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // also if both are the same infinity
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return kInfinity;
    largest = std::max(largest, difference);
  }
  return largest;
}

// Of the element that comes nearest to what it is allowed, or passes it furthest.
void SetWorst(const std::vector<double>& after, const ExpectedState& expected, TensorDifference& tensor) {
  if (after.size() != expected.elements.size()) tensor.difference = kInfinity;
  double worst = -1;
  for (size_t i = 0; i < after.size() && tensor.difference < kInfinity; ++i) {
    const double difference = std::abs(after[i] - expected.elements[i]), allowed = expected.allowed[i];
    const double excess = difference == 0 ? 0 : allowed == 0 ? kInfinity : difference / allowed;
    if (excess <= worst) continue;
    worst = excess;
    tensor.difference = std::isfinite(difference) ? difference : kInfinity;
    tensor.allowed = allowed;
  }
}

double AllowedFor(const StepComparison& comparison, Kind kind, const std::string& name) {
  for (const TensorDifference& tensor : comparison.tensors) {
    if (tensor.kind == kind && tensor.pair == Pair::kPlanSerial && tensor.name == name) return tensor.allowed;
  }
  return 0;
}

// What the plan computed, or the nearest that is allowed.
HostTensor Nearest(WholeValue plan, const WholeValue& serial, double allowed) {
  if (plan.elements.size() != serial.elements.size()) return InF64(serial);
  for (size_t i = 0; i < plan.elements.size(); ++i) {
    plan.elements[i] = std::clamp(plan.elements[i], serial.elements[i] - allowed, serial.elements[i] + allowed);
  }
  plan.shape = serial.shape;
  return InF64(plan);
}

}  // namespace

TensorDifference PlanVerifier::Compare(Kind kind, const std::string& name, const std::vector<double>& a,
                                       const std::vector<double>& b, double rest_of, double allowed) const {
  TensorDifference tensor;
  tensor.kind = kind;
  tensor.name = name;
  tensor.difference = LargestDifference(a, b);
  tensor.allowed = allowed * std::max(LargestMagnitude(b), options_.floor * rest_of);
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
                                          TensorDifference& tensor) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  const Node* accuracy = &node;
  CountedRows counted;
  if (node.op->name == kQuotient) {
    accuracy = &graph.node(graph.value(node.inputs[0]).producer);
    ASSIGN_OR_RETURN(const WholeValue divisor, serial_->Observed(graph.value(node.inputs[1]).name));
    counted.divisor = std::abs(divisor.elements[0]);
  }
  if (accuracy->op->role != Role::kAccuracy) return absl::OkStatus();
  std::vector<WholeValue> inputs;  // logits, labels, weights
  for (const ValueId input : accuracy->inputs) {
    if (input == kNoValue) break;
    ASSIGN_OR_RETURN(WholeValue value, serial_->Observed(graph.value(input).name));
    inputs.push_back(std::move(value));
  }
  const Attributes& attributes = accuracy->attributes;
  counted.top = attributes.Int("top");
  if (attributes.Has("ignore_index")) counted.ignored = attributes.Int("ignore_index");
  if (attributes.String("reduction") == "mean") {
    const int64_t batch = attributes.Int("batch"), samples = inputs[1].shape[0];
    const auto rows = static_cast<double>(inputs[1].elements.size());
    counted.divisor *= rows / static_cast<double>(samples) * static_cast<double>(batch == 0 ? samples : batch);
  }
  const double least = options_.tolerance * LargestMagnitude(inputs[0].elements);
  const double error = std::max(least, AllowedFor(comparison, Kind::kForward, graph.value(accuracy->inputs[0]).name));
  tensor.allowed =
      UndecidedAccuracy(inputs[0], inputs[1], inputs.size() > 2 ? &inputs[2] : nullptr, counted, 2 * error);
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
    TensorDifference tensor = Compare(Kind::kForward, value.serial, plan.elements, serial.elements,
                                      std::max(scale.Forward(value.serial), added), options_.tolerance);
    RETURN_IF_ERROR(AllowUndecided(node, comparison, tensor));
    tensor.replicas_equal = plan.replicas_equal;
    comparison.tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareResults(const StepScale& scale, StepComparison& comparison) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  const auto at_end = [&](Pair pair, const Session& session, size_t result, double reported) -> absl::Status {
    const EntryResult& read = session.program().Find(kTrainEntry)->results[result];
    ASSIGN_OR_RETURN(const WholeValue made, session.Observed(session.graph(kTrainEntry).value(read.value).name));
    TensorDifference tensor = Compare(Kind::kResult, read.name, {reported}, made.elements, 0, 0);
    tensor.pair = pair;
    comparison.tensors.push_back(std::move(tensor));
    return absl::OkStatus();
  };
  for (size_t r = 0; r < comparison.results.size(); ++r) {
    const ReportedResult& result = comparison.results[r];
    const Value& value = graph.value(serial_->program().Find(kTrainEntry)->results[r].value);
    TensorDifference tensor = Compare(Kind::kResult, result.name, {result.plan}, {result.serial},
                                      scale.Forward(value.name), options_.tolerance);
    const Node& node = graph.node(value.producer);
    RETURN_IF_ERROR(AllowUndecided(node, comparison, tensor));
    comparison.tensors.push_back(std::move(tensor));
    RETURN_IF_ERROR(at_end(Pair::kSerialOwnLaunch, *serial_, r, result.serial));
    RETURN_IF_ERROR(at_end(Pair::kPlanOwnLaunch, *plan_, r, result.plan));
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::CompareGradients(const StepScale& scale, StepComparison& comparison) const {
  for (const Gradient& gradient : gradients_) {
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(gradient.serial));
    ASSIGN_OR_RETURN(const WholeValue plan, plan_->Observed(gradient.plan));
    comparison.tensors.push_back(Compare(Kind::kGradient, gradient.parameter, plan.elements, serial.elements,
                                         scale.Backward(), options_.tolerance));
    comparison.tensors.back().replicas_equal = plan.replicas_equal;
  }
  return reference_ ? AllowKinks(scale, comparison) : absl::OkStatus();
}

absl::Status PlanVerifier::AllowKinks(const StepScale& scale, StepComparison& comparison) const {
  std::map<std::string, TensorDifference*> differing;
  for (TensorDifference& tensor : comparison.tensors) {
    if (tensor.kind == Kind::kGradient && std::isfinite(tensor.difference) && tensor.difference > tensor.allowed) {
      differing[tensor.name] = &tensor;
    }
  }
  if (differing.empty()) return absl::OkStatus();
  const ObservedRun run = [&](const std::string& name) -> absl::StatusOr<std::optional<WholeValue>> {
    const auto forward = std::ranges::find(forward_, name, &Forward::serial);
    if (forward == forward_.end()) return ObservedBySerial(name);
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(name));
    ASSIGN_OR_RETURN(WholeValue own, PlanValue(*forward, serial.elements.size()));
    own.shape = serial.shape;
    return own;
  };
  ReferenceVisitor visitor;
  visitor.gradient = [&](const std::string& parameter, const std::vector<double>& reference) -> absl::Status {
    const auto tensor = differing.find(parameter);
    if (tensor == differing.end()) return absl::OkStatus();
    const auto gradient = std::ranges::find(gradients_, parameter, &Gradient::parameter);
    ASSIGN_OR_RETURN(const WholeValue plan, plan_->Observed(gradient->plan));
    const TensorDifference own =
        Compare(Kind::kGradient, parameter, plan.elements, reference, scale.Backward(), options_.tolerance);
    if (own.difference <= own.allowed) tensor->second->allowed = tensor->second->difference;
    return absl::OkStatus();
  };
  return WalkReference(*reference_, run, visitor);
}

absl::Status PlanVerifier::CompareStates(const StepScale& scale, const States& plan, StepComparison& comparison) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  F64Update rule(graph, *f64_,
                 [&](ValueId value, NodeId reader) { return ReadByPlan(scale, plan, comparison, value, reader); });
  std::vector<TensorDifference> updates;
  for (size_t s = 0; s < graph.states().size(); ++s) {
    ASSIGN_OR_RETURN(const ExpectedState expected, rule.After(graph.states()[s]));
    TensorDifference tensor;
    tensor.kind = Kind::kUpdate;
    tensor.name = graph.value(graph.states()[s].value).name;
    SetWorst(ToDoubles(plan.after[s]), expected, tensor);
    ASSIGN_OR_RETURN(tensor.replicas_equal, plan_->ReplicasEqual(tensor.name));
    updates.push_back(std::move(tensor));
  }
  comparison.tensors.insert(comparison.tensors.end(), updates.begin(), updates.end());
  return absl::OkStatus();
}

absl::StatusOr<ReadValue> PlanVerifier::ReadByPlan(const StepScale& scale, const States& plan,
                                                   const StepComparison& comparison, ValueId value,
                                                   NodeId reader) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  const std::string& name = graph.value(value).name;
  for (size_t s = 0; s < graph.states().size(); ++s) {
    if (graph.states()[s].value == value) return ReadValue{InF64(plan.before[s])};
    if (graph.states()[s].update == value) return ReadValue{InF64(plan.after[s])};
  }
  ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(name));
  if (!IsFloating(serial.dtype)) return ReadValue{InF64(serial)};
  // The update of a parameter is held to the nearest gradient that is allowed. What else reads gradients (their norm)
  // is held to what it read, or to the plan's gradient where that is right. Parameters may share a gradient of the
  // serial graph; in the plan each has its own.
  const auto own_gradient = std::ranges::find_if(
      gradients_, [&](const Gradient& each) { return each.serial == name && each.update == reader; });
  if (own_gradient != gradients_.end()) {
    ASSIGN_OR_RETURN(WholeValue own, plan_->Observed(own_gradient->plan));
    const double allowed = AllowedFor(comparison, Kind::kGradient, own_gradient->parameter);
    return ReadValue{Nearest(std::move(own), serial, allowed)};
  }
  const bool forward_value = graph.node(graph.value(value).producer).phase == Phase::kForward;
  const double rest_of = forward_value ? scale.Forward(name) : scale.Backward();
  const double largest = std::max(LargestMagnitude(serial.elements), options_.floor * rest_of);
  const double allowed = options_.tolerance * largest;
  if (const auto read = plan_reads_.find({value, reader}); read != plan_reads_.end()) {
    ASSIGN_OR_RETURN(WholeValue own, plan_->Observed(read->second));
    return ReadValue{forward_value ? Nearest(std::move(own), serial, allowed) : InF64(own)};
  }
  const auto gradient = std::ranges::find(gradients_, name, &Gradient::serial);
  if (gradient != gradients_.end()) {
    ASSIGN_OR_RETURN(const WholeValue own, plan_->Observed(gradient->plan));
    const double differs = LargestDifference(own.elements, serial.elements);
    const bool right = differs <= AllowedFor(comparison, Kind::kGradient, gradient->parameter);
    return ReadValue{InF64(right ? own : serial)};
  }
  for (const Forward& forward : forward_) {
    if (forward.serial != name) continue;
    ASSIGN_OR_RETURN(WholeValue own, PlanValue(forward, serial.elements.size()));
    // Where ranks hold parts of a sum, they were added in another order here.
    const double epsilon =
        serial.dtype == DType::kF64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    return ReadValue{Nearest(std::move(own), serial, allowed), kRoundingsOfSums * epsilon * largest};
  }
  return ReadValue{InF64(serial), allowed};
}

absl::Status PlanVerifier::CompareReference(const StepScale& scale, StepComparison& comparison) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  const auto add = [&](TensorDifference tensor) {
    tensor.pair = Pair::kSerialReference;
    comparison.tensors.push_back(std::move(tensor));
    return absl::OkStatus();
  };
  ReferenceVisitor visitor;
  visitor.forward = [&](const std::string& name, const std::vector<double>& reference,
                        const std::vector<double>& serial) -> absl::Status {
    TensorDifference tensor =
        Compare(Kind::kForward, name, serial, reference, scale.Forward(name), options_.reference_tolerance);
    const Node& node = graph.node(graph.value(graph.Find(name)).producer);
    RETURN_IF_ERROR(AllowUndecided(node, comparison, tensor));
    return add(std::move(tensor));
  };
  visitor.gradient = [&](const std::string& parameter, const std::vector<double>& reference) -> absl::Status {
    const auto gradient = std::ranges::find(gradients_, parameter, &Gradient::parameter);
    if (gradient == gradients_.end()) return Internal("the serial run has no gradient of '{}'", parameter);
    ASSIGN_OR_RETURN(const WholeValue serial, serial_->Observed(gradient->serial));
    return add(Compare(Kind::kGradient, parameter, serial.elements, reference, scale.Backward(), options_.tolerance));
  };
  return WalkReference(
      *reference_, [this](const std::string& name) { return ObservedBySerial(name); }, visitor);
}

// Nullopt: no op of the serial graph makes a value of that name.
absl::StatusOr<std::optional<WholeValue>> PlanVerifier::ObservedBySerial(const std::string& name) const {
  const Graph& graph = serial_->graph(kTrainEntry);
  const ValueId value = graph.Find(name);
  if (value == kNoValue || graph.node(graph.value(value).producer).op->move) return std::nullopt;
  ASSIGN_OR_RETURN(WholeValue observed, serial_->Observed(name));
  return observed;
}

}  // namespace partita
