#include "tests/mutation/judge.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/prove/verify_schedule.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/verify_model.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int kSteps = 2;
constexpr int64_t kMemory = int64_t{64} << 20;
// Of the largest gradient's norm. A gradient that is zero but for rounding (a shift before a batch norm) is compared
// with the others: 1e-14 of the largest, some tens of roundings.
constexpr double kFloor = 1e-4;
constexpr double kMostMultiplyAdds = 1e8;  // a step: forward, and twice as many backward
constexpr int kMostRanks = 6;              // that are run

// A refusal names a fault of the user in words; everything else is a fault of ours.
Verdict Refusal(const absl::Status& status) {
  const bool user =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kResourceExhausted;
  if (user && status.message().size() > 10 && status.message().size() < 4000) {
    return {Outcome::kRefused, std::string(status.message())};
  }
  return {Outcome::kWrong, "refused by " + status.ToString()};
}

SessionOptions Options() {
  SessionOptions options;
  options.seed = 3;
  options.threads_per_rank = 1;
  options.memory_limit = kMemory;
  options.tests.reference_kernels = true;
  options.tests.poison = true;
  return options;
}

// Numbers in [0, 1) and labels in [0, 10), or of the input's range.
HostTensor Batch(const Subject& subject, const std::string& field, const TensorType& type, int step) {
  Dice dice(100 + step);
  const auto range = subject.ranges.find(field);
  const auto [low, high] = range != subject.ranges.end() ? range->second
                           : IsFloating(type.dtype)      ? std::pair(0.0, 1.0)
                                                         : std::pair(0.0, 10.0);
  HostTensor tensor{type.dtype, type.shape, std::vector<char>(Elements(type.shape) * SizeOf(type.dtype))};
  for (int64_t i = 0; i < Elements(type.shape); ++i) {
    char* const at = tensor.bytes.data() + i * SizeOf(type.dtype);
    const double number = low + (high - low) * static_cast<double>(dice.Below(1 << 30)) / (1 << 30);
    const int32_t label = static_cast<int32_t>(std::floor(number));
    const float single = static_cast<float>(number);
    if (type.dtype == DType::kF64) std::memcpy(at, &number, sizeof(number));
    if (type.dtype == DType::kF32) std::memcpy(at, &single, sizeof(single));
    if (type.dtype == DType::kI32) std::memcpy(at, &label, sizeof(label));
    if (type.dtype == DType::kU8) *at = static_cast<char>(label);
  }
  return tensor;
}

// What a training step is given: names and whole types.
std::vector<std::pair<std::string, TensorType>> FieldsOf(const Program& program) {
  std::vector<std::pair<std::string, TensorType>> fields;
  const EntryPoint& train = *program.Find(kTrainEntry);
  for (const EntryInput& input : train.inputs) {
    TensorType type = train.graph.type(input.values[0]);
    type.shape[0] *= static_cast<int64_t>(input.values.size());
    fields.emplace_back(input.field, std::move(type));
  }
  return fields;
}

// How a program runs alone: the first step that fails and its error, or a run without.
struct Alone {
  int steps = 0;
  absl::Status status;
};

Alone RunAlone(const Subject& subject, const Program& program) {
  Alone alone;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Start(program, Options());
  alone.status = session.status();
  for (; alone.status.ok() && alone.steps < kSteps; ++alone.steps) {
    for (const auto& [field, type] : FieldsOf(program)) {
      alone.status.Update((*session)->StageInput(kTrainEntry, field, Batch(subject, field, type, alone.steps)));
    }
    if (alone.status.ok()) alone.status = (*session)->Train().status();
    if (!alone.status.ok()) break;
  }
  return alone;
}

// A step failed: it must be the data's fault, and fail alike in both.
Verdict Stopped(const Subject& subject, const Program& serial, const Program& plan) {
  const Alone one = RunAlone(subject, serial), many = RunAlone(subject, plan);
  const std::string both = fmt::format("serial: step {}: {}; plan: step {}: {}", one.steps, one.status.ToString(),
                                       many.steps, many.status.ToString());
  const bool data =
      one.status.code() == absl::StatusCode::kOutOfRange || one.status.code() == absl::StatusCode::kInvalidArgument;
  const bool alike = one.status.code() == many.status.code() && one.steps == many.steps;
  return {data && alike ? Outcome::kStopped : Outcome::kWrong, both};
}

Verdict Run(const Subject& subject, const Program& serial, const Program& plan) {
  VerifyPlanOptions options;
  options.session = Options();
  options.session.group_updates = plan.graph(kTrainEntry).nodes().size() % 2 == 1;  // either way
  options.tolerance = 1e-10;
  options.floor = kFloor;
  // An optimizer that divides by the size of gradients makes of the rounding of a gradient that is 0 a whole step, so
  // two runs that are both right part.
  options.same_beginning = !subject.optimizer.name.empty() && subject.optimizer.name != "sgd";
  const absl::StatusOr<std::unique_ptr<PlanVerifier>> verifier = PlanVerifier::Start(serial, plan, options);
  if (!verifier.ok()) return Refusal(verifier.status());
  for (int step = 0; step < kSteps; ++step) {
    for (const auto& [field, type] : FieldsOf(serial)) {
      const absl::Status staged = (*verifier)->StageInput(field, Batch(subject, field, type, step));
      if (!staged.ok()) return {Outcome::kWrong, staged.ToString()};
    }
    const absl::StatusOr<StepComparison> comparison = (*verifier)->Step();
    if (!comparison.ok()) return Stopped(subject, serial, plan);
    const TensorDifference* const first = comparison->First();
    if (first != nullptr) return {Outcome::kWrong, fmt::format("step {}: {}", step, ToString(*first))};
  }
  return {Outcome::kRan, ""};
}

// Everything but running: the schedules of the first and the last rank.
Verdict PlanOnly(const Program& plan) {
  ScheduleOptions options;
  options.memory_limit = kMemory;
  HostKernelOptions reference;
  reference.reference_only = true;
  const std::unique_ptr<KernelLibrary> kernels = MakeHostKernels(reference);
  for (const Graph* entry : {&plan.graph(kTrainEntry), &plan.graph(kEvaluateEntry)}) {
    for (const int rank : {0, plan.ranks() - 1}) {
      const absl::StatusOr<Schedule> schedule = MakeSchedule(plan, *entry, rank, *kernels, options);
      if (!schedule.ok()) return Refusal(schedule.status());
      const absl::Status verified = VerifySchedule(*schedule);
      if (!verified.ok()) return {Outcome::kWrong, verified.ToString()};
    }
  }
  return {Outcome::kPlanned, ""};
}

}  // namespace

Verdict Judge(const Subject& subject, bool fuse) {
  absl::StatusOr<Graph> graph = GraphOf(subject);
  if (!graph.ok()) return Refusal(graph.status());
  const double multiply_adds = 3 * MultiplyAdds(*graph);
  Model model{subject.model, *std::move(graph), subject.optimizer, subject.learning_rate};
  if (const absl::Status verified = VerifyModel(model, Ops()); !verified.ok()) return Refusal(verified);
  ProgramOptions options;
  options.floating = DType::kF64;
  options.fuse = fuse;
  options.verify_passes = true;
  const absl::StatusOr<Program> plan = MakeProgram(model, subject.strategy, Ops(), options);
  if (!plan.ok()) return Refusal(plan.status());
  const absl::StatusOr<Program> serial = MakeProgram(model, Strategy{}, Ops(), options);
  if (!serial.ok()) return {Outcome::kWrong, "only the serial program is refused: " + serial.status().ToString()};
  if (multiply_adds > kMostMultiplyAdds || plan->ranks() > kMostRanks) return PlanOnly(*plan);
  return Run(subject, *serial, *plan);
}

}  // namespace partita
