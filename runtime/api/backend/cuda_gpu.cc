#include <fmt/ranges.h>

#include <utility>

#include "ops/cuda/cuda_kernels.h"
#include "ops/cuda/cuda_libraries.h"
#include "ops/cuda/described_gpu.h"
#include "ops/plans/plan_cache.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/api/job/job.h"
#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/cuda_local_world.h"
#include "runtime/comm/nccl/nccl_world.h"
#include "runtime/device/cuda/cuda_device.h"

namespace partita {
namespace {

CudaLibraryOptions LibraryOptions(const DeviceOptions& options) {
  CudaLibraryOptions libraries;
  libraries.allow_tf32 = options.allow_tf32;
  libraries.deterministic = options.deterministic;
  libraries.tell = options.tell;
  return libraries;
}

// `known`: null if the limits of the GPU are not.
CudaKernelOptions KernelOptions(const GpuDescription* known, const DeviceOptions& options) {
  CudaKernelOptions kernels;
  if (known != nullptr) kernels.peaks = known->peaks;
  kernels.allow_tf32 = options.allow_tf32;
  return kernels;
}

// The kernels and the plans that they refer to.
class GpuKernels : public KernelLibrary {
 public:
  GpuKernels(CudaDevice& device, const DeviceOptions& options) : plans_(options.plan_folder, options.warn) {
    const GpuDescription* const known = FindDescription(device.model());
    CudaKernelOptions kernels = KernelOptions(known, options);
    kernels.load = [&device](const void* function) { return device.context().Load(function); };
    kernels.foreign = OpenCudaLibraries(device, LibraryOptions(options), &plans_);
    kernels_ = MakeCudaKernels(std::move(kernels));
  }
  GpuKernels(const GpuDescription& gpu, const DeviceOptions& options) {
    CudaKernelOptions kernels = KernelOptions(&gpu, options);
    kernels.foreign = DescribeCudaLibraries(gpu, LibraryOptions(options), &plans_);
    kernels_ = MakeCudaKernels(std::move(kernels));
  }

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override { return kernels_->Choose(node); }
  bool TakesColumns(const LocalNode& node, const KernelChoice& choice, size_t operand) const override {
    return kernels_->TakesColumns(node, choice, operand);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    return kernels_->Create(node, choice, std::move(arguments));
  }
  absl::StatusOr<KernelDetails> Describe(const LocalNode& node, const KernelChoice& choice,
                                         const KernelArguments& arguments) const override {
    return kernels_->Describe(node, choice, arguments);
  }

  std::string Choices() const override { return plans_.Export(); }
  absl::Status Adopt(const std::string& choices) override { return plans_.Import(choices); }

 private:
  PlanCache plans_;
  std::unique_ptr<KernelLibrary> kernels_;
};

absl::StatusOr<std::unique_ptr<CudaNodeTimes>> StartNodeTimes() {
  ASSIGN_OR_RETURN(const CuptiApi* const cupti, LoadCupti());
  return CudaNodeTimes::Start(*cupti);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(const SessionOptions& options) {
  CudaDeviceOptions device;
  device.index = *options.device.gpu;
  device.timeline = options.record_timeline;
  device.delay.seed = options.tests.delay_seed;
  if (options.record_timeline) {
    absl::StatusOr<std::unique_ptr<CudaNodeTimes>> node_times = StartNodeTimes();
    if (node_times.ok()) {
      device.node_times = *std::move(node_times);
    } else if (options.device.warn) {
      options.device.warn(fmt::format("steps are timed by events in the graph, which makes them slower: {}",
                                      std::string(node_times.status().message())));
    }
  }
  return CudaDevice::Create(std::move(device));
}

int VisibleGpus() { return CountCudaDevices().value_or(0); }

std::string GpuModel(const Device& gpu) { return static_cast<const CudaDevice&>(gpu).model(); }

std::string ModelOfGpu(int index) {
  const absl::StatusOr<std::string> model = CudaDeviceModel(index);
  return model.ok() ? *model : H200().model;
}

absl::Status CheckRanksOfGpu(int ranks, const std::string& gpu) { return CudaLocalWorld::CheckRanks(ranks, gpu); }

absl::StatusOr<std::unique_ptr<KernelLibrary>> MakeGpuKernels(Device& gpu, const SessionOptions& options) {
  return std::make_unique<GpuKernels>(static_cast<CudaDevice&>(gpu), options.device);
}

absl::StatusOr<DescribedGpu> DescribeGpu(const SessionOptions& options) {
  return DescribedGpu{H200().model, H200().memory_bytes, std::make_unique<GpuKernels>(H200(), options.device)};
}

absl::StatusOr<std::unique_ptr<World>> MakeGpuWorld(Device& gpu, const Program& program,
                                                    const SessionOptions& options) {
  auto& device = static_cast<CudaDevice&>(gpu);
  const int ranks = program.ranks();
  Job* const job = options.job.get();
  if (job == nullptr) return CudaLocalWorld::Create(ranks, &device);
  if (job->ranks().size() != 1) {
    return InvalidArgument("this process has the ranks [{}]; with NCCL each process has one",
                           fmt::join(job->ranks(), ","));
  }
  NcclWorldOptions nccl;
  ASSIGN_OR_RETURN(nccl.api, LoadNccl());
  nccl.device = &device;
  nccl.rank = job->ranks()[0];
  nccl.ranks = ranks;
  for (const auto& group : program.groups) nccl.groups.push_back(group.ranks);
  nccl.exchange = [job](const std::string& words) { return job->AllGather({MessageKind::kGpuIds, words}); };
  nccl.host = NcclHost();
  nccl.join_within = job->join_timeout();
  nccl.deterministic = options.device.deterministic;
  nccl.warn = options.device.warn;
  nccl.tell = options.device.tell;
  return NcclWorld::Create(std::move(nccl));
}

}  // namespace partita
