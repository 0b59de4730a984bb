// How a session comes to be: schedules made and proven, a world found, ranks built, steps captured.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "graph/ir/op_definition.h"
#include "graph/make_schedule.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/api/job/choose_once.h"
#include "runtime/api/job/job.h"
#include "runtime/api/rank/gpu.h"
#include "runtime/api/session.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"

namespace partita {
namespace {

int DefaultThreads(int ranks) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, cores / ranks);
}

}  // namespace

Session::Session(Program program, const SessionOptions& options) : program_(std::move(program)), options_(options) {
  if (options_.threads_per_rank <= 0) options_.threads_per_rank = DefaultThreads(program_.ranks());
}

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

absl::StatusOr<std::vector<Schedule>> Session::MakeSchedules(const Graph& entry) const {
  ScheduleOptions options;
  options.compute_streams = options_.compute_streams;
  options.memory_limit = options_.memory_limit;
  options.guard_bytes = options_.tests.guard_bytes;
  options.reuse_memory = options_.tests.reuse_memory;
  options.group_updates = options_.group_updates;
  options.overlap_halo = options_.overlap_halo;
  options.exchange_boxes = world_->moves_blocks();
  ASSIGN_OR_RETURN(std::vector<Schedule> schedules, partita::MakeSchedules(program_, entry, *kernels_, options));
  RETURN_IF_ERROR(VerifySchedules(schedules));
  RETURN_IF_ERROR(VerifyCollectives(program_, schedules));
  return schedules;
}

absl::Status Session::Build() {
  const int ranks = program_.ranks();
  RETURN_IF_ERROR(FindKernels());
  RETURN_IF_ERROR(FindWorld());
  const auto choose = [this]() -> absl::Status {
    schedules_.clear();
    for (const EntryPoint& entry : program_.entries) {
      ASSIGN_OR_RETURN(std::vector<Schedule> schedules, MakeSchedules(entry.graph));
      schedules_.push_back(std::move(schedules));
    }
    return absl::OkStatus();
  };
  const bool shared = gpu_ != nullptr && options_.job != nullptr;
  RETURN_IF_ERROR(shared ? ChooseOnce(*options_.job, *kernels_, choose) : choose());
  RETURN_IF_ERROR(gpu_ == nullptr ? CheckHostMemory() : CheckGpuMemory());
  ranks_.resize(static_cast<size_t>(ranks));
  for (const int rank : local_ranks_) {
    RankParts parts;
    for (const std::vector<Schedule>& schedules : schedules_) {
      for (size_t s = 0; s < schedules[rank].states.size(); ++s) {
        CHECK(schedules[rank].states[s].offset == schedules_.front()[rank].states[s].offset);
      }
      parts.schedules.push_back(&schedules[rank]);
    }
    parts.rank = rank;
    parts.device = gpu_.get();
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
  if (options_.device.gpu) {
    ASSIGN_OR_RETURN(gpu_, OpenGpu(options_));
    ASSIGN_OR_RETURN(kernels_, MakeGpuKernels(*gpu_, options_));
    options_.group_updates = true;
    return absl::OkStatus();
  }
  HostKernelOptions options;
  options.reference_only = options_.tests.reference_kernels;
  options.threads = options_.threads_per_rank;
  kernels_ = MakeHostKernels(options);
  return absl::OkStatus();
}

// Before anything is allocated: one sentence now is better than a process that the system ends later.
absl::Status Session::CheckHostMemory() const {
  const HostMemory memory = MeasureMemory();
  int64_t left = memory.free;
  for (const int rank : local_ranks_) {
    int64_t planned = PlannedMemory(rank).total;
    if (program_.Find(kTrainEntry) != nullptr) {
      planned += RankRuntime::CopiedBytes(schedules_[Place(kTrainEntry)][rank], options_);
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
    for (const auto& schedules : schedules_) planned += RankRuntime::StageBytes(schedules[rank]);
  }
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
  const int ranks = program_.ranks();
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
                         program_.meshes[0].ToString(), ranks);
}

}  // namespace partita
