// How a session comes to be: a backend opened, schedules made and proven, ranks built, steps captured.
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "runtime/api/job/choose_once.h"
#include "runtime/api/job/job.h"
#include "runtime/api/rank/stall_watch.h"
#include "runtime/api/session.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {

Session::Session(Program program, const SessionOptions& options) : program_(std::move(program)), options_(options) {}

Session::~Session() {
  // A step of several ranks uses the streams of all.
  for (auto& rank : ranks_) {
    if (rank != nullptr) rank->DropExecutors();
  }
}

absl::StatusOr<std::unique_ptr<Session>> Session::Start(Program program, const SessionOptions& options) {
  return OrExhausted("the session", [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    std::unique_ptr<Session> session(new Session(std::move(program), options));
    RETURN_IF_ERROR(session->Build());
    return session;
  });
}

// Of this process's ranks. What is proven of all ranks is proven of each kind of them, and of these ranks once more.
absl::StatusOr<std::vector<Schedule>> Session::MakeSchedules(const Graph& entry) {
  ASSIGN_OR_RETURN(const FoldedSchedules folded, backend_->MakeFoldedSchedules(program_, entry));
  std::vector<Schedule> own = SchedulesOfRanks(program_, entry, folded, local_ranks_);
  std::vector<const Schedule*> by_rank = folded.ByRank(), proven;
  for (const Schedule& schedule : folded.schedules) proven.push_back(&schedule);
  for (const Schedule& schedule : own) {
    by_rank[static_cast<size_t>(schedule.rank)] = &schedule;
    proven.push_back(&schedule);
  }
  RETURN_IF_ERROR(VerifySchedules(proven));
  RETURN_IF_ERROR(VerifyCollectives(program_, by_rank));
  planned_.resize(by_rank.size());
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank]->memory.total > planned_[rank].total) planned_[rank] = by_rank[rank]->memory;
  }
  return own;
}

absl::StatusOr<std::vector<const Schedule*>> Session::AllSchedules(std::string_view entry,
                                                                   FoldedSchedules& storage) const {
  std::vector<const Schedule*> by_rank;
  if (!alone()) {
    ASSIGN_OR_RETURN(storage, backend_->MakeFoldedSchedules(program_, graph(entry)));
    return storage.ByRank();
  }
  for (const Schedule& schedule : schedules(entry)) by_rank.push_back(&schedule);
  return by_rank;
}

absl::Status Session::Build() {
  const int ranks = program_.ranks();
  RETURN_IF_ERROR(OpenBackend());
  const auto choose = [this]() -> absl::Status {
    schedules_.clear();
    planned_.clear();
    for (const EntryPoint& entry : program_.entries) {
      ASSIGN_OR_RETURN(std::vector<Schedule> schedules, MakeSchedules(entry.graph));
      schedules_.push_back(std::move(schedules));
    }
    return absl::OkStatus();
  };
  Device* const gpu = backend_->gpu();
  const bool timed = gpu != nullptr || !options_.device.deterministic;
  const bool shared = timed && options_.job != nullptr;
  RETURN_IF_ERROR(shared ? ChooseOnce(*options_.job, backend_->kernels(), choose) : choose());
  RETURN_IF_ERROR(gpu == nullptr ? CheckHostMemory() : CheckGpuMemory());
  ranks_.resize(static_cast<size_t>(ranks));
  for (size_t place = 0; place < local_ranks_.size(); ++place) {
    const int rank = local_ranks_[place];
    RankParts parts;
    for (const std::vector<Schedule>& schedules : schedules_) {
      const Schedule &schedule = schedules[place], &first = schedules_.front()[place];
      for (size_t s = 0; s < schedule.states.size(); ++s) CHECK(schedule.states[s].offset == first.states[s].offset);
      CHECK(schedule.rounded.size() == first.rounded.size());
      for (size_t s = 0; s < schedule.rounded.size(); ++s) {
        CHECK(schedule.rounded[s].placement.offset == first.rounded[s].placement.offset);
      }
      parts.schedules.push_back(&schedule);
    }
    parts.rank = rank;
    parts.device = gpu;
    parts.place = static_cast<int>(place);
    parts.places = static_cast<int>(local_ranks_.size());
    parts.program = &program_;
    parts.kernels = &backend_->kernels();
    parts.world = &backend_->world();
    parts.on_failure = [world = parts.world](const absl::Status& status) { world->Abort(status); };
    ASSIGN_OR_RETURN(ranks_[rank], RankRuntime::Create(std::move(parts), options_));
  }
  RETURN_IF_ERROR(Capture());
  executors_.resize(program_.entries.size());
  for (size_t entry = 0; entry < executors_.size(); ++entry) {
    for (const int rank : local_ranks_) {
      Executor* const executor = &ranks_[rank]->executor(static_cast<int>(entry));
      if (executors_[entry].empty() || executors_[entry].back() != executor) executors_[entry].push_back(executor);
    }
  }
  started_.resize(local_ranks_.size());
  records_timeline_ = options_.record_timeline;
  ResetCounters();
  return WatchForStalls();
}

absl::Status Session::WatchForStalls() {
  const FlightRecorder* const recorder = backend_->world().recorder();
  if (options_.stall.timeout.count() == 0 || recorder == nullptr || backend_->gpu() != nullptr) return absl::OkStatus();
  std::map<int, std::vector<Stream*>> streams;
  for (const int rank : local_ranks_) streams[rank] = ranks_[rank]->streams();
  const auto on_stall = [world = &backend_->world(), told = options_.stall.on_stall](
                            const absl::Status& status, const std::vector<FlightRecord>& records) {
    if (told) told(status, records);  // first: the thread that stands still may hold what the world needs to end
    world->Abort(status);
  };
  ASSIGN_OR_RETURN(stall_watch_, StallWatch::Start(streams, *recorder, options_.stall.timeout, on_stall));
  return absl::OkStatus();
}

absl::Status Session::OpenBackend() {
  ASSIGN_OR_RETURN(backend_, Backend::Open(program_, options_));
  local_ranks_ = backend_->local_ranks();
  options_.threads_per_rank = backend_->threads_per_rank();
  return absl::OkStatus();
}

// Before anything is allocated: one sentence now is better than a process that the system ends later.
absl::Status Session::CheckHostMemory() const {
  const HostMemory memory = MeasureMemory();
  int64_t left = memory.free;
  for (const int rank : local_ranks_) {
    int64_t planned = PlannedMemory(rank).total;
    if (program_.Find(kTrainEntry) != nullptr) {
      planned += RankRuntime::CopiedBytes(schedule(kTrainEntry, rank), options_);
    }
    if (planned > left) {
      return ResourceExhausted(
          "rank {}: the plan needs {} bytes; of {} that this process may use {} are free, and ranks before it take {} "
          "of them",
          rank, planned, memory.total, memory.free, memory.free - left);
    }
    left -= planned;
  }
  return absl::OkStatus();
}

absl::Status Session::CheckGpuMemory() {
  int64_t planned = 0;
  for (const int rank : local_ranks_) {
    planned += PlannedMemory(rank).total;
    for (const auto& schedules : schedules_) planned += RankRuntime::StageBytes(schedules[PlaceOfRank(rank)]);
  }
  ASSIGN_OR_RETURN(const DeviceMemory memory, backend_->gpu()->Memory());
  if (planned <= memory.free) return absl::OkStatus();
  return ResourceExhausted("device '{}': the plan needs {} bytes for {}; of its {} bytes {} are free",
                           backend_->gpu()->name(), planned, Counted(local_ranks_.size(), "rank"), memory.total,
                           memory.free);
}

absl::Status Session::Capture() {
  if (backend_->gpu() != nullptr) {
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

}  // namespace partita
