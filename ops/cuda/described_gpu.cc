#include "ops/cuda/described_gpu.h"

#include <utility>

#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class DescribedLibraries : public ForeignKernels {
 public:
  DescribedLibraries(bool allow_tf32, absl::StatusOr<std::shared_ptr<CudnnConvolutions>> convolutions)
      : allow_tf32_(allow_tf32), products_(LoadCublasLt().status()), convolutions_(std::move(convolutions)) {}

  bool allows_tf32() const override { return allow_tf32_; }

  absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode& node) override {
    RETURN_IF_ERROR(products_);
    return EstimateMatMul(node);
  }
  absl::StatusOr<PreparedCudaKernel> Lstm(const LocalNode& node) override {
    RETURN_IF_ERROR(products_);
    return EstimateLstm(node);
  }
  absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode& node) override {
    RETURN_IF_ERROR(convolutions_.status());
    return (*convolutions_)->Prepare(node);
  }

 private:
  const bool allow_tf32_;
  const absl::Status products_;
  const absl::StatusOr<std::shared_ptr<CudnnConvolutions>> convolutions_;
};

absl::StatusOr<std::shared_ptr<CudnnConvolutions>> DescribeConvolutions(const GpuDescription& gpu,
                                                                        const CudaLibraryOptions& options,
                                                                        PlanCache* plans) {
  ASSIGN_OR_RETURN(const CudnnApi api, LoadCudnn());
  CudnnOptions cudnn;
  cudnn.allow_tf32 = options.allow_tf32;
  cudnn.deterministic = options.deterministic;
  cudnn.device = fmt::format("{} sm_{}, described", gpu.model, gpu.compute_capability);
  return CudnnConvolutions::CreateDescribed(api, cudnn, gpu.cudnn, plans);
}

}  // namespace

const GpuDescription& H200() {
  static const auto& gpu = *new GpuDescription{
      "NVIDIA H200",
      90,
      150'121'545'728,
      R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"deviceName":"NVIDIA H200","totalGlobalMem":150121545728,)"
      R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
      R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
      R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
      R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560})",
      // Of NVIDIA's data sheet "NVIDIA H200 Tensor Core GPU", column SXM. It tells TF32 and bf16 with sparsity, 989 and
      // 1,979: these are the halves. f64 is that of tensor cores.
      {.f64 = 67e12,
       .f32 = 67e12,
       .tf32 = 494.5e12,
       .bf16 = 989.5e12,
       .memory_bytes = 4.8e12,
       .cache_bytes = 62'914'560}};
  return gpu;
}

const GpuDescription* FindDescription(const std::string& model) { return model == H200().model ? &H200() : nullptr; }

std::shared_ptr<ForeignKernels> DescribeCudaLibraries(const GpuDescription& gpu, const CudaLibraryOptions& options,
                                                      PlanCache* plans) {
  return std::make_shared<DescribedLibraries>(options.allow_tf32, DescribeConvolutions(gpu, options, plans));
}

}  // namespace partita
