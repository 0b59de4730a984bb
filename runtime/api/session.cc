#include "runtime/api/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/op_definition.h"
#include "graph/passes/unroll_micro_batches.h"
#include "graph/verify_collectives.h"
#include "graph/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/api/gpu.h"
#include "runtime/api/job.h"
#include "runtime/api/packed_values.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
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

Session::~Session() {
  // A step of several ranks uses the streams of all.
  for (auto& rank : ranks_) {
    if (rank != nullptr) rank->DropExecutors();
  }
}

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
  RETURN_IF_ERROR(FindKernels());
  ASSIGN_OR_RETURN(train_, MakeSchedules(program_.train));
  ASSIGN_OR_RETURN(evaluate_, MakeSchedules(program_.evaluate));
  RETURN_IF_ERROR(FindWorld());
  RETURN_IF_ERROR(CheckGpuMemory());
  ranks_.resize(static_cast<size_t>(ranks));
  for (const int rank : local_ranks_) {
    for (size_t s = 0; s < train_[rank].states.size(); ++s) {
      CHECK(train_[rank].states[s].offset == evaluate_[rank].states[s].offset);
    }
    RankParts parts;
    parts.rank = rank;
    parts.device = gpu_.get();
    parts.train = &train_[rank];
    parts.evaluate = &evaluate_[rank];
    parts.program = &program_;
    parts.kernels = kernels_.get();
    parts.world = world_;
    parts.on_failure = [world = world_](const absl::Status& status) { world->Abort(status); };
    ASSIGN_OR_RETURN(ranks_[rank], RankRuntime::Create(std::move(parts), options_));
  }
  RETURN_IF_ERROR(Capture());
  started_.resize(local_ranks_.size());
  ResetCounters();
  return absl::OkStatus();
}

absl::Status Session::FindKernels() {
  if (options_.gpu) {
    ASSIGN_OR_RETURN(gpu_, OpenGpu(*options_.gpu, options_.record_timeline));
    ASSIGN_OR_RETURN(kernels_, MakeGpuKernels(*gpu_));
    options_.find_non_finite = false;
    return absl::OkStatus();
  }
  HostKernelOptions options;
  options.reference_only = options_.reference_kernels;
  options.threads = options_.threads_per_rank;
  kernels_ = MakeHostKernels(options);
  return absl::OkStatus();
}

// Before anything is allocated: one sentence now is better than a step that fails later.
absl::Status Session::CheckGpuMemory() {
  if (gpu_ == nullptr) return absl::OkStatus();
  int64_t planned = 0;
  for (const int rank : local_ranks_) planned += PlannedMemory(rank).total;
  ASSIGN_OR_RETURN(const DeviceMemory memory, gpu_->Memory());
  if (planned <= memory.free) return absl::OkStatus();
  return ResourceExhausted("device '{}': the plan needs {} bytes for {} ranks; of its {} bytes {} are free",
                           gpu_->name(), planned, local_ranks_.size(), memory.total, memory.free);
}

absl::Status Session::Capture() {
  if (gpu_ != nullptr) {
    std::vector<RankRuntime*> all;
    for (const int rank : local_ranks_) all.push_back(ranks_[rank].get());
    return RankRuntime::Capture(all, options_);
  }
  for (const int rank : local_ranks_) {
    RankRuntime* const runtime = ranks_[rank].get();
    RETURN_IF_ERROR(RankRuntime::Capture(std::span(&runtime, 1), options_));
  }
  return absl::OkStatus();
}

absl::Status Session::FindWorld() {
  const int ranks = program_.mesh.size();
  if (options_.job == nullptr) {
    local_ranks_.resize(static_cast<size_t>(ranks));
    std::iota(local_ranks_.begin(), local_ranks_.end(), 0);
    if (gpu_ == nullptr) {
      ASSIGN_OR_RETURN(own_world_, LocalWorld::Create(ranks));
    } else {
      ASSIGN_OR_RETURN(own_world_, MakeGpuWorld(*gpu_, program_, nullptr));
    }
    world_ = own_world_.get();
    return absl::OkStatus();
  }
  local_ranks_ = options_.job->ranks();
  world_ = &options_.job->world();
  if (!local_ranks_.empty() && local_ranks_.front() >= 0 && local_ranks_.back() < ranks) {
    if (gpu_ == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(own_world_, MakeGpuWorld(*gpu_, program_, options_.job.get()));
    world_ = own_world_.get();
    return absl::OkStatus();
  }
  return InvalidArgument("this process has the ranks [{}], the strategy's mesh {} has {}", fmt::join(local_ranks_, ","),
                         program_.mesh.ToString(), ranks);
}

HeldPart Session::PartOf(const Placement& placement, int rank) const {
  return ranks_[rank] == nullptr ? HeldPart{placement.tensor, nullptr} : ranks_[rank]->PartOf(placement);
}

HeldPart Session::ObservedPart(ValueId value, int rank) const {
  if (ranks_[rank] == nullptr) return {train_[rank].values[value].tensor, nullptr};
  return ranks_[rank]->ObservedPart(value);
}

absl::StatusOr<std::vector<HeldPart>> Session::InputPlacements(Entry entry, const std::string& name, int rank) const {
  std::vector<HeldPart> parts;
  for (const Placement& placement : schedule(entry, rank).inputs) {
    if (placement.name == name) return std::vector<HeldPart>{PartOf(placement, rank)};
    if (placement.name == MicroBatchName(name, static_cast<int64_t>(parts.size()))) {
      parts.push_back(PartOf(placement, rank));
    }
  }
  if (parts.empty()) return InvalidArgument("there is no input '{}'", name);
  // Micro-batches follow each other in the batch.
  for (size_t m = 0; m < parts.size(); ++m) {
    LocalTensor& tensor = parts[m].tensor;
    tensor.box.offset[0] += static_cast<int64_t>(m) * tensor.global[0];
    tensor.global[0] *= static_cast<int64_t>(parts.size());
  }
  return parts;
}

absl::Status Session::StageInput(Entry entry, const std::string& name, const HostTensor& whole) {
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(const std::vector<HeldPart> parts, InputPlacements(entry, name, rank));
    for (const HeldPart& part : parts) {
      if (part.tensor.dtype != whole.dtype || part.tensor.global != whole.shape) {
        return InvalidArgument("input '{}' is {}{}, given is {}{}", name, Name(part.tensor.dtype),
                               ToString(part.tensor.global), Name(whole.dtype), ToString(whole.shape));
      }
      CopyToPart(whole.bytes.data(), part);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Session::Train() { return Step(Entry::kTrain); }
absl::StatusOr<StepResult> Session::Evaluate() { return Step(Entry::kEvaluate); }

absl::StatusOr<StepResult> Session::Step(Entry entry) {
  RETURN_IF_ERROR(dead_);
  const bool diagnosable = options_.find_non_finite && entry == Entry::kTrain;
  std::vector<Executor*> executors;
  executors.reserve(local_ranks_.size());
  for (const int rank : local_ranks_) {
    if (diagnosable) ranks_[rank]->TakeSnapshot();
    Executor* const executor = &ranks_[rank]->executor(entry);
    if (executors.empty() || executors.back() != executor) executors.push_back(executor);
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
  for (size_t i = 0; i < started; ++i) {
    const absl::Status ended = executors[i]->Wait();
    if (status.ok()) status = ended;
  }
  for (size_t i = 0; i < local_ranks_.size() && status.ok(); ++i) {
    const int rank = local_ranks_[i];
    status =
        WithContext(fmt::format("rank {}", rank), ranks_[rank]->CheckGuards(/*guard_only=*/options_.guard_bytes == 0));
  }
  dead_ = status;
  return status;
}

StepResult Session::ResultOf(Entry entry) const {
  StepResult result;
  const Graph& entry_graph = graph(entry);
  const int rank = local_ranks_.front();  // all ranks hold the results
  for (const Placement& placement : schedule(entry, rank).results) {
    const double value = ScalarAt(PartOf(placement, rank));
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
  for (const int rank : local_ranks_) {
    ranks_[rank]->RestoreSnapshot();
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> diagnosis, ranks_[rank]->MakeDiagnosis());
    executors.push_back(diagnosis.get());
    diagnoses.push_back(std::move(diagnosis));
  }
  RETURN_IF_ERROR(RunAll(executors));
  ValueId first = kNoValue;
  for (const auto& diagnosis : diagnoses) {
    const ValueId value = diagnosis->FirstNonFinite();
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  }
  PackedValues packed;
  packed.Add(first);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(packed.bytes()));
  for (const std::string& process : all) {
    const auto value = PackedReader(process).Next<ValueId>();
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

absl::StatusOr<HeldPart> Session::StatePart(const std::string& name, int rank) const {
  const Placement* const placement = FindState(name, rank);
  if (placement == nullptr) return InvalidArgument("there is no state '{}'", name);
  if (ranks_[rank] != nullptr) RETURN_IF_ERROR(ranks_[rank]->Fetch(*placement));
  return PartOf(*placement, rank);
}

absl::StatusOr<HostTensor> Session::ReadState(const std::string& name) const {
  if (FindState(name, 0) == nullptr) return InvalidArgument("there is no state '{}'", name);
  const Layout& layout = program_.train.layout(program_.train.Find(name));
  std::vector<HeldPart> parts;
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(HeldPart part, StatePart(name, rank));
    parts.push_back(std::move(part));
    if (!IsFirstReplica(layout, program_.mesh, rank)) parts.back().data = nullptr;
  }
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  HostTensor tensor{parts[0].tensor.dtype, parts[0].tensor.global, {}};
  tensor.bytes.resize(static_cast<size_t>(Elements(tensor.shape) * SizeOf(tensor.dtype)));
  for (const HeldPart& part : parts) CopyFromPart(part, tensor.bytes.data());
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
    CopyToPart(tensor.bytes.data(), PartOf(*placement, rank));
    if (ranks_[rank] != nullptr) RETURN_IF_ERROR(ranks_[rank]->Store(*placement));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::ReplicasEqual(const std::string& state) const {
  const ValueId value = program_.train.Find(state);
  std::vector<HeldPart> parts;
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(HeldPart part, StatePart(state, rank));
    parts.push_back(std::move(part));
  }
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  return GatherValue(program_.train.type(value), program_.train.layout(value), program_.mesh, parts).replicas_equal;
}

absl::StatusOr<WholeValue> Session::Observed(const std::string& name) const {
  const ValueId value = program_.train.Find(name);
  if (value == kNoValue || !options_.observe) return InvalidArgument("no value '{}' is observed", name);
  std::vector<HeldPart> parts;
  for (int rank = 0; rank < ranks(); ++rank) parts.push_back(ObservedPart(value, rank));
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  return GatherValue(program_.train.type(value), program_.train.layout(value), program_.mesh, parts);
}

std::vector<GroupTraffic> Session::Traffic() const {
  std::vector<GroupTraffic> traffic(program_.groups.size());
  for (const int rank : local_ranks_) {
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

absl::StatusOr<std::vector<GroupTraffic>> Session::JobTraffic() const {
  std::vector<GroupTraffic> traffic = Traffic();
  if (options_.job == nullptr) return traffic;
  PackedValues packed;
  for (const GroupTraffic& group : traffic) packed.Add(group);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(packed.bytes()));
  traffic.assign(traffic.size(), {});
  for (const std::string& process : all) {
    PackedReader values(process);
    for (GroupTraffic& group : traffic) {
      const auto part = values.Next<GroupTraffic>();
      group.bytes += part.bytes;
      group.calls += part.calls;
      group.waits += part.waits;
      group.wait_seconds += part.wait_seconds;
    }
  }
  return traffic;
}

void Session::ResetCounters() {
  counted_before_.assign(ranks_.size(), std::vector<CommBytes>(program_.groups.size()));
  for (const int rank : local_ranks_) {
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

int64_t Session::UsedMemory(int rank) const { return ranks_[rank]->UsedMemory(); }

absl::StatusOr<std::vector<int64_t>> Session::JobUsedMemory() const {
  PackedValues packed;
  for (const int rank : local_ranks_) {
    packed.Add(rank);
    packed.Add(UsedMemory(rank));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(packed.bytes()));
  std::vector<int64_t> used(ranks_.size());
  for (const std::string& process : all) {
    PackedReader values(process);
    while (!values.AtEnd()) {
      const int rank = values.Next<int>();
      used[rank] = values.Next<int64_t>();
    }
  }
  return used;
}

absl::StatusOr<std::vector<std::string>> Session::AllGather(const std::string& bytes) const {
  if (options_.job == nullptr) return std::vector<std::string>{bytes};
  return options_.job->AllGather(bytes);
}

// The parts of all ranks, of which those in other processes lie in `storage`.
absl::StatusOr<std::vector<HeldPart>> Session::AllParts(std::vector<HeldPart> parts,
                                                        std::vector<std::string>& storage) const {
  if (options_.job == nullptr) return parts;
  PackedValues packed;
  for (const int rank : local_ranks_) {
    if (parts[rank].data == nullptr) continue;
    packed.Add(rank);
    packed.AddBytes(parts[rank].data, parts[rank].tensor.bytes());
  }
  ASSIGN_OR_RETURN(storage, AllGather(packed.bytes()));
  for (const std::string& process : storage) {
    PackedReader values(process);
    while (!values.AtEnd()) {
      HeldPart& part = parts[values.Next<int>()];
      char* const bytes = const_cast<char*>(values.NextBytes(part.tensor.bytes()));
      if (part.data == nullptr) part.data = bytes;
    }
  }
  return parts;
}

void Session::RecordTimeline(bool on) {
  for (const int rank : local_ranks_) ranks_[rank]->SetRecording(on);
}

std::vector<LaunchSpan> Session::Timeline(Entry entry, int rank) const {
  if (ranks_[rank] == nullptr) return {};
  const std::vector<Span> spans = ranks_[rank]->Spans(entry);
  const auto index = static_cast<size_t>(std::ranges::find(local_ranks_, rank) - local_ranks_.begin());
  const double shift = static_cast<double>(started_[index] - started_[0]) * SecondsPerCycle();
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
