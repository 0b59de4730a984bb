#include "runtime/api/session.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/op_definition.h"
#include "graph/verify_collectives.h"
#include "graph/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

int DefaultThreads(int ranks) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, cores / ranks);
}

double ScalarAt(const HeldPart& part) {
  CHECK(part.data != nullptr);
  if (part.tensor.dtype == DType::kF64) return *static_cast<const double*>(part.data);
  CHECK(part.tensor.dtype == DType::kF32);
  return *static_cast<const float*>(part.data);
}

// A reported value is often a move of what the user named: "loss@all_reduce".
std::string UserName(const std::string& name) { return name.substr(0, name.find('@')); }

}  // namespace

Session::Session(Program program, const SessionOptions& options) : program_(std::move(program)), options_(options) {
  if (options_.threads_per_rank <= 0) options_.threads_per_rank = DefaultThreads(program_.mesh.size());
}

Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::Start(Program program, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(std::move(program), options));
  RETURN_IF_ERROR(session->Build());
  return session;
}

absl::StatusOr<std::vector<Schedule>> Session::MakeSchedules(const Graph& entry) const {
  ScheduleOptions options;
  options.compute_streams = options_.compute_streams;
  options.memory_limit = options_.memory_limit;
  options.guard_bytes = options_.guard_bytes;
  options.reuse_memory = options_.reuse_memory;
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < program_.mesh.size(); ++rank) {
    ASSIGN_OR_RETURN(Schedule schedule, MakeSchedule(program_, entry, rank, *kernels_, options));
    RETURN_IF_ERROR(WithContext(fmt::format("rank {}", rank), VerifySchedule(schedule)));
    schedules.push_back(std::move(schedule));
  }
  RETURN_IF_ERROR(VerifyCollectives(program_, schedules));
  return schedules;
}

absl::Status Session::Build() {
  const int ranks = program_.mesh.size();
  HostKernelOptions kernel_options;
  kernel_options.reference_only = options_.reference_kernels;
  kernel_options.threads = options_.threads_per_rank;
  kernels_ = MakeHostKernels(kernel_options);
  ASSIGN_OR_RETURN(std::vector<Schedule> train, MakeSchedules(program_.train));
  ASSIGN_OR_RETURN(std::vector<Schedule> evaluate, MakeSchedules(program_.evaluate));
  ASSIGN_OR_RETURN(world_, LocalWorld::Create(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (size_t s = 0; s < train[rank].states.size(); ++s) {
      CHECK(train[rank].states[s].offset == evaluate[rank].states[s].offset);
    }
    RankParts parts;
    parts.rank = rank;
    parts.train = std::move(train[rank]);
    parts.evaluate = std::move(evaluate[rank]);
    parts.program = &program_;
    parts.kernels = kernels_.get();
    parts.world = world_.get();
    parts.on_failure = [world = world_.get()](const absl::Status& status) { world->Abort(status); };
    ASSIGN_OR_RETURN(std::unique_ptr<RankRuntime> runtime, RankRuntime::Create(std::move(parts), options_));
    ranks_.push_back(std::move(runtime));
  }
  started_.resize(static_cast<size_t>(ranks));
  ResetCounters();
  return absl::OkStatus();
}

absl::StatusOr<HeldPart> Session::InputPlacement(Entry entry, const std::string& name, int rank) const {
  for (const Placement& placement : schedule(entry, rank).inputs) {
    if (placement.name == name) return ranks_[rank]->PartOf(placement);
  }
  return InvalidArgument("there is no input '{}'", name);
}

absl::Status Session::StageInput(Entry entry, const std::string& name, const HostTensor& whole) {
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(const HeldPart part, InputPlacement(entry, name, rank));
    if (part.tensor.dtype != whole.dtype || part.tensor.global != whole.shape) {
      return InvalidArgument("input '{}' is {}{}, given is {}{}", name, Name(part.tensor.dtype),
                             ToString(part.tensor.global), Name(whole.dtype), ToString(whole.shape));
    }
    CopyToPart(whole.bytes.data(), part);
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Session::Train() { return Step(Entry::kTrain); }
absl::StatusOr<StepResult> Session::Evaluate() { return Step(Entry::kEvaluate); }

absl::StatusOr<StepResult> Session::Step(Entry entry) {
  RETURN_IF_ERROR(dead_);
  const bool diagnosable = options_.find_non_finite && entry == Entry::kTrain;
  std::vector<Executor*> executors;
  executors.reserve(ranks_.size());
  for (auto& rank : ranks_) {
    if (diagnosable) rank->TakeSnapshot();
    executors.push_back(&rank->executor(entry));
  }
  if (entry == Entry::kTrain) ++train_steps_;
  RETURN_IF_ERROR(RunAll(executors));
  StepResult result = ResultOf(entry);
  if (!std::isfinite(result.loss)) return NotFinite(entry, result);
  return result;
}

absl::Status Session::RunAll(const std::vector<Executor*>& executors) {
  absl::Status status;
  size_t started = 0;
  for (; started < executors.size() && status.ok(); ++started) {
    started_[started] = ReadCycles();
    status = executors[started]->Start();
  }
  if (!status.ok()) world_->Abort(status);
  for (size_t rank = 0; rank < started; ++rank) {
    const absl::Status ended = executors[rank]->Wait();
    if (status.ok()) status = ended;
  }
  for (size_t rank = 0; rank < ranks_.size() && status.ok(); ++rank) {
    status = WithContext(fmt::format("rank {}", rank),
                         ranks_[rank]->memory_check().CheckGuards(/*guard_only=*/options_.guard_bytes == 0));
  }
  dead_ = status;
  return status;
}

StepResult Session::ResultOf(Entry entry) const {
  StepResult result;
  const Graph& entry_graph = graph(entry);
  for (const Placement& placement : ranks_[0]->schedule(entry).results) {
    const double value = ScalarAt(ranks_[0]->PartOf(placement));
    if (entry_graph.loss != kNoValue && placement.name == entry_graph.value(entry_graph.loss).name) {
      result.loss = value;
    } else {
      result.metrics.emplace_back(UserName(placement.name), value);
    }
  }
  return result;
}

absl::Status Session::NotFinite(Entry entry, const StepResult& result) {
  const Graph& entry_graph = graph(entry);
  const std::string loss = UserName(entry_graph.value(entry_graph.loss).name);
  if (entry == Entry::kEvaluate) return OutOfRange("evaluation: node '{}': the loss is {}", loss, result.loss);
  const std::string what = fmt::format("step {}: node '{}': the loss is {}", train_steps_, loss, result.loss);
  if (!options_.find_non_finite) return absl::OutOfRangeError(what);
  std::vector<std::unique_ptr<Executor>> diagnoses;
  std::vector<Executor*> executors;
  for (auto& rank : ranks_) {
    rank->RestoreSnapshot();
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> diagnosis, rank->MakeDiagnosis());
    executors.push_back(diagnosis.get());
    diagnoses.push_back(std::move(diagnosis));
  }
  RETURN_IF_ERROR(RunAll(executors));
  ValueId first = kNoValue;
  for (const auto& diagnosis : diagnoses) {
    const ValueId value = diagnosis->FirstNonFinite();
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  }
  if (first == kNoValue) return absl::OutOfRangeError(what);
  return OutOfRange("{}; the first value that is not finite is '{}'", what, entry_graph.value(first).name);
}

std::vector<std::string> Session::StateNames() const {
  std::vector<std::string> names;
  for (const State& state : program_.train.states()) names.push_back(program_.train.value(state.value).name);
  return names;
}

bool Session::IsParameter(const std::string& state) const {
  const ValueId value = program_.train.Find(state);
  return value != kNoValue && program_.train.node(program_.train.value(value).producer).op->name == "parameter";
}

const Placement* Session::FindState(const std::string& name, int rank) const {
  for (const Placement& placement : schedule(Entry::kTrain, rank).states) {
    if (placement.name == name) return &placement;
  }
  return nullptr;
}

absl::StatusOr<HostTensor> Session::ReadState(const std::string& name) const {
  HostTensor tensor;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Placement* const placement = FindState(name, rank);
    if (placement == nullptr) return InvalidArgument("there is no state '{}'", name);
    if (rank == 0) {
      tensor = {placement->tensor.dtype, placement->tensor.global, {}};
      tensor.bytes.resize(static_cast<size_t>(Elements(tensor.shape) * SizeOf(tensor.dtype)));
    }
    CopyFromPart(ranks_[rank]->PartOf(*placement), tensor.bytes.data());
  }
  return tensor;
}

absl::Status Session::WriteState(const std::string& name, const HostTensor& tensor) {
  for (int rank = 0; rank < ranks(); ++rank) {
    const Placement* const placement = FindState(name, rank);
    if (placement == nullptr) return InvalidArgument("there is no state '{}'", name);
    if (placement->tensor.dtype != tensor.dtype || placement->tensor.global != tensor.shape) {
      return InvalidArgument("state '{}' is {}{}, given is {}{}", name, Name(placement->tensor.dtype),
                             ToString(placement->tensor.global), Name(tensor.dtype), ToString(tensor.shape));
    }
    CopyToPart(tensor.bytes.data(), ranks_[rank]->PartOf(*placement));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::ReplicasEqual(const std::string& state) const {
  const ValueId value = program_.train.Find(state);
  std::vector<HeldPart> parts;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Placement* const placement = FindState(state, rank);
    if (placement == nullptr) return InvalidArgument("there is no state '{}'", state);
    parts.push_back(ranks_[rank]->PartOf(*placement));
  }
  return GatherValue(program_.train.type(value), program_.train.layout(value), program_.mesh, parts).replicas_equal;
}

absl::StatusOr<WholeValue> Session::Observed(const std::string& name) const {
  const ValueId value = program_.train.Find(name);
  if (value == kNoValue || !options_.observe) return InvalidArgument("no value '{}' is observed", name);
  std::vector<HeldPart> parts;
  for (const auto& rank : ranks_) parts.push_back(rank->ObservedPart(value));
  return GatherValue(program_.train.type(value), program_.train.layout(value), program_.mesh, parts);
}

std::vector<GroupTraffic> Session::Traffic() const {
  std::vector<GroupTraffic> traffic(program_.groups.size());
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (size_t group = 0; group < traffic.size(); ++group) {
      const auto& communicator = ranks_[rank]->communicators()[group];
      if (communicator == nullptr) continue;
      const CommBytes now = communicator->bytes();
      const CommBytes& before = counted_before_[rank][group];
      traffic[group].bytes += {now.payload - before.payload, now.wire - before.wire};
      if (communicator->rank() == 0) traffic[group].calls = now.calls - before.calls;
      traffic[group].waits += now.waits - before.waits;
      traffic[group].wait_seconds += now.wait_seconds - before.wait_seconds;
    }
  }
  return traffic;
}

void Session::ResetCounters() {
  counted_before_.assign(ranks_.size(), std::vector<CommBytes>(program_.groups.size()));
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (size_t group = 0; group < program_.groups.size(); ++group) {
      const auto& communicator = ranks_[rank]->communicators()[group];
      if (communicator != nullptr) counted_before_[rank][group] = communicator->bytes();
    }
  }
}

std::vector<MoveBytes> Session::PredictedBytes(Entry entry) const { return PredictBytes(program_, graph(entry)); }

const MemoryUse& Session::PlannedMemory(int rank) const {
  const MemoryUse& train = schedule(Entry::kTrain, rank).memory;
  const MemoryUse& evaluate = schedule(Entry::kEvaluate, rank).memory;
  return train.total >= evaluate.total ? train : evaluate;
}

int64_t Session::UsedMemory(int rank) const { return ranks_[rank]->memory_check().HighestTouched(); }

void Session::RecordTimeline(bool on) {
  for (auto& rank : ranks_) rank->SetRecording(on);
}

std::vector<LaunchSpan> Session::Timeline(Entry entry, int rank) const {
  const std::vector<Span> spans = ranks_[rank]->recorder(entry).Spans();
  const double shift = static_cast<double>(started_[rank] - started_[0]) * SecondsPerCycle();
  const std::vector<Launch>& launches = schedule(entry, rank).launches;
  std::vector<LaunchSpan> timeline;
  for (size_t l = 0; l < std::min(spans.size(), launches.size()); ++l) {
    if (spans[l].end == 0) continue;
    timeline.push_back({&launches[l], spans[l].begin + shift, spans[l].end + shift});
  }
  return timeline;
}

void Session::Abort(const absl::Status& status) { world_->Abort(status); }

}  // namespace partita
