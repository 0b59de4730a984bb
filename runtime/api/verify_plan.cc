#include "runtime/api/verify_plan.h"

#include <algorithm>
#include <limits>

#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "runtime/api/step_scale.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

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
  using Pair = TensorDifference::Pair;
  if (difference.kind == Kind::kStep) return "only one of the two runs applied the step";
  const char* const what = difference.kind == Kind::kForward    ? "value"
                           : difference.kind == Kind::kResult   ? "result"
                           : difference.kind == Kind::kGradient ? "gradient of"
                                                                : "update of";
  const std::string name = fmt::format("{} '{}'", what, difference.name);
  if (!difference.replicas_equal) return name + ": ranks that should hold the same bits do not";
  const char* const from = difference.pair == Pair::kPlanSerial        ? "differs"
                           : difference.pair == Pair::kSerialReference ? "the serial run differs from the reference"
                           : difference.pair == Pair::kPlanOwnLaunch
                               ? "at the step's end differs from what was computed"
                               : "at the serial step's end differs from what was computed";
  return fmt::format("{}: {} by {:.3g}, allowed is {:.3g}", name, from, difference.difference, difference.allowed);
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
                                                                  const VerifyPlanOptions& options,
                                                                  const std::optional<Program>& reference) {
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
  verifier->f64_.emplace(verifier->serial_->graph(kTrainEntry), session.seed);
  if (reference) verifier->reference_.emplace(reference->graph(kTrainEntry), session.seed);
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
  for (NodeId id = 0; id < static_cast<NodeId>(serial.nodes().size()); ++id) {
    const ValueId twin = plan.Find(serial.name(id));
    if (serial.node(id).phase == Phase::kUpdate && twin != kNoValue) MatchReads(id, plan.value(twin).producer);
  }
  for (const State& state : serial.states()) {
    const std::string& name = serial.value(state.value).name;
    for (const State& twin : plan.states()) {
      if (plan.value(twin.value).name != name) continue;
      if (state.update != kNoValue && twin.update != kNoValue) {
        MatchReads(serial.value(state.update).producer, plan.value(BeforeMoves(plan, twin.update)).producer);
      }
      if (state.gradient == kNoValue) continue;
      if (twin.gradient == kNoValue) return Internal("the plan has no gradient of '{}'", name);
      gradients_.push_back({name, serial.value(state.gradient).name, plan.value(twin.gradient).name,
                            serial.value(state.update).producer});
    }
  }
  return absl::OkStatus();
}

// Of nodes that are not the same (a plan may update a state once for each micro-batch) nothing is matched.
void PlanVerifier::MatchReads(NodeId serial, NodeId plan) {
  const Graph& from = serial_->graph(kTrainEntry);
  const Graph& to = plan_->graph(kTrainEntry);
  const Node& node = from.node(serial);
  const Node& twin = to.node(plan);
  if (node.op != twin.op || node.inputs.size() != twin.inputs.size()) return;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i], read = twin.inputs[i];
    if (value == kNoValue || read == kNoValue || from.type(value) != to.type(read)) continue;
    plan_reads_[{value, serial}] = to.value(read).name;
  }
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
  const absl::StatusOr<StepResult> serial = serial_->Train(), plan = plan_->Train();
  StepComparison comparison;
  if ((serial.ok() && absl::IsOutOfRange(plan.status())) || (absl::IsOutOfRange(serial.status()) && plan.ok())) {
    comparison.tensors.push_back({TensorDifference::Kind::kStep, "step", 1});
    return comparison;
  }
  RETURN_IF_ERROR(serial.status());
  RETURN_IF_ERROR(plan.status());
  AddResults(*serial, *plan, comparison);
  ASSIGN_OR_RETURN(of_serial.after, ReadStates(*serial_, names));
  ASSIGN_OR_RETURN(of_plan.after, ReadStates(*plan_, names));
  ASSIGN_OR_RETURN(const StepScale scale, StepScale::Of(*serial_, of_serial.before, of_serial.after));
  RETURN_IF_ERROR(CompareForward(scale, comparison));
  RETURN_IF_ERROR(CompareResults(scale, comparison));
  RETURN_IF_ERROR(CompareGradients(scale, comparison));
  RETURN_IF_ERROR(CompareStates(scale, of_plan, comparison));
  if (reference_ && options_.reference_every_step) RETURN_IF_ERROR(CompareReference(scale, comparison));
  return comparison;
}

// As Session orders results: the loss, then all others.
void PlanVerifier::AddResults(const StepResult& serial, const StepResult& plan, StepComparison& comparison) const {
  const std::vector<EntryResult>& results = serial_->program().Find(kTrainEntry)->results;
  comparison.serial_loss = serial.loss;
  comparison.loss = plan.loss;
  comparison.results.push_back({results[0].name, serial.loss, plan.loss});
  for (size_t m = 0; m < serial.metrics.size(); ++m) {
    comparison.results.push_back({serial.metrics[m].first, serial.metrics[m].second, plan.metrics[m].second});
  }
}

absl::Status PlanVerifier::Diagnose() {
  RETURN_IF_ERROR(serial_->Diagnose());
  return plan_->Diagnose();
}

}  // namespace partita
