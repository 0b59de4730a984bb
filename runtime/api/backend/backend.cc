#include "runtime/api/backend/backend.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/api/backend/gpu.h"
#include "runtime/api/job/job.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/cores.h"
#include "runtime/device/host/kernel_team.h"
#include "runtime/device/host/spin.h"

namespace partita {
namespace {

int DefaultThreads(int ranks) { return std::clamp(UsableCores() / ranks, 1, MostKernelThreads()); }

}  // namespace

Backend::Backend(int ranks, Spread spread, bool runs, const SessionOptions& options)
    : spread_(spread), runs_(runs), ranks_of_gpu_(spread == Spread::kThreads ? ranks : 1), options_(options) {
  if (options_.threads_per_rank <= 0) options_.threads_per_rank = DefaultThreads(ranks);
}

Backend::~Backend() {
  if (own_world_ != nullptr && options_.job != nullptr) options_.job->SetStepWorld(nullptr);
}

absl::StatusOr<std::unique_ptr<Backend>> Backend::Open(const Program& program, const SessionOptions& options) {
  const Spread spread = options.job == nullptr ? Spread::kThreads : Spread::kProcesses;
  std::unique_ptr<Backend> backend(new Backend(program.ranks(), spread, true, options));
  RETURN_IF_ERROR(backend->FindKernels());
  RETURN_IF_ERROR(backend->FindWorld(program));
  backend->moves_blocks_ = backend->world_->moves_blocks();
  return backend;
}

absl::StatusOr<std::unique_ptr<Backend>> Backend::OpenToPlan(int ranks, Spread spread, const SessionOptions& options) {
  std::unique_ptr<Backend> backend(new Backend(ranks, spread, false, options));
  const absl::Status found = backend->FindKernels();
  RETURN_IF_ERROR(absl::IsUnavailable(found) ? backend->DescribeKernels(found) : found);
  if (options.device.gpu && spread == Spread::kThreads) {
    RETURN_IF_ERROR(CheckRanksOfGpu(ranks, backend->device_name_));
  }
  backend->moves_blocks_ = spread == Spread::kThreads;  // those reach each other's memory
  return backend;
}

World& Backend::world() const {
  CHECK(world_ != nullptr);
  return *world_;
}

int Backend::compute_streams() const {
  if (options_.compute_streams != 0) return options_.compute_streams;
  return options_.device.gpu ? kComputeStreamsOfGpu : 1;
}

ScheduleOptions Backend::schedule_options() const {
  ScheduleOptions options;
  options.compute_streams = compute_streams();
  options.speed = options_.speed;
  options.memory_limit = options_.memory_limit;
  options.device_bytes = gpu_bytes_ / ranks_of_gpu_;
  options.group_updates = options_.group_updates || options_.device.gpu.has_value();
  options.keep_values = options_.tests.observe;
  options.overlap_halo = options_.overlap_halo;
  options.exchange_boxes = moves_blocks_;
  options.guard_bytes = options_.tests.guard_bytes;
  options.reuse_memory = options_.tests.reuse_memory;
  return options;
}

absl::StatusOr<std::vector<Schedule>> Backend::MakeSchedules(const Program& program, const Graph& entry) const {
  return partita::MakeSchedules(program, entry, *kernels_, schedule_options());
}

absl::StatusOr<FoldedSchedules> Backend::MakeFoldedSchedules(const Program& program, const Graph& entry) const {
  return partita::MakeFoldedSchedules(program, entry, *kernels_, schedule_options());
}

absl::Status Backend::FindKernels() {
  if (options_.device.gpu) {
    ASSIGN_OR_RETURN(gpu_, OpenGpu(options_));
    device_name_ = GpuModel(*gpu_);
    ASSIGN_OR_RETURN(const DeviceMemory memory, gpu_->Memory());
    gpu_bytes_ = memory.total;
    ASSIGN_OR_RETURN(kernels_, MakeGpuKernels(*gpu_, options_));
    return absl::OkStatus();
  }
  kernels_ = MakeHostKernels(HostOptions());
  return absl::OkStatus();
}

HostKernelOptions Backend::HostOptions() const {
  HostKernelOptions options;
  options.reference_only = options_.tests.reference_kernels;
  options.after_kernel = options_.tests.after_kernel;
  options.threads = options_.threads_per_rank;
  const DeviceOptions& device = options_.device;
  if (device.deterministic) return options;
  options.timing = HostTiming{
      .folder = device.plan_folder, .times = runs_, .warn = device.warn, .tell = device.tell, .detail = device.detail};
  return options;
}

absl::Status Backend::DescribeKernels(const absl::Status& missing) {
  ASSIGN_OR_RETURN(DescribedGpu described, DescribeGpu(options_));
  device_name_ = std::move(described.name);
  gpu_bytes_ = described.memory_bytes;
  kernels_ = std::move(described.kernels);
  gpu_missing_ = missing;
  return absl::OkStatus();
}

absl::Status Backend::FindWorld(const Program& program) {
  if (options_.job != nullptr) return JoinWorldOfJob(program);
  local_ranks_.resize(static_cast<size_t>(program.ranks()));
  std::iota(local_ranks_.begin(), local_ranks_.end(), 0);
  if (gpu_ == nullptr) {
    LocalWorldOptions options;
    options.spin = SpinOf(int64_t{program.ranks()} * options_.threads_per_rank);
    ASSIGN_OR_RETURN(own_world_, LocalWorld::Create(program.ranks(), options));
  } else {
    ASSIGN_OR_RETURN(own_world_, MakeGpuWorld(*gpu_, program, options_));
  }
  world_ = own_world_.get();
  return absl::OkStatus();
}

absl::Status Backend::JoinWorldOfJob(const Program& program) {
  local_ranks_ = options_.job->ranks();
  if (local_ranks_.empty() || local_ranks_.front() < 0 || local_ranks_.back() >= program.ranks()) {
    return InvalidArgument("this process has the ranks [{}], the strategy's mesh {} has {}",
                           fmt::join(local_ranks_, ","), program.meshes[0].ToString(), program.ranks());
  }
  world_ = &options_.job->world();
  if (gpu_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(own_world_, MakeGpuWorld(*gpu_, program, options_));
  world_ = own_world_.get();
  options_.job->SetStepWorld(world_);
  return absl::OkStatus();
}

}  // namespace partita
