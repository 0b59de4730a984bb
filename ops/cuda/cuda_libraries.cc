#include "ops/cuda/cuda_libraries.h"

#include <utility>

#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "ops/cuda/device_plan_timer.h"

namespace partita {
namespace {

template <typename T>
absl::StatusOr<PreparedCudaKernel> PrepareBy(const absl::StatusOr<std::shared_ptr<T>>& library, const LocalNode& node) {
  if (!library.ok()) return library.status();
  return (*library)->Prepare(node);
}

class CudaLibraries : public ForeignKernels {
 public:
  CudaLibraries(CudaDevice& device, bool allow_tf32, absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> products,
                absl::StatusOr<std::shared_ptr<CudnnConvolutions>> convolutions)
      : device_(device),
        allow_tf32_(allow_tf32),
        products_(std::move(products)),
        convolutions_(std::move(convolutions)) {}

  bool allows_tf32() const override { return allow_tf32_; }
  absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode& node) override {
    RETURN_IF_ERROR(device_.context().Activate());
    return PrepareBy(products_, node);
  }
  absl::StatusOr<PreparedCudaKernel> Lstm(const LocalNode& node) override {
    RETURN_IF_ERROR(device_.context().Activate());
    RETURN_IF_ERROR(products_.status());
    return (*products_)->PrepareLstm(node);
  }
  absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode& node) override {
    RETURN_IF_ERROR(device_.context().Activate());
    return PrepareBy(convolutions_, node);
  }

 private:
  CudaDevice& device_;
  const bool allow_tf32_;
  const absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> products_;
  const absl::StatusOr<std::shared_ptr<CudnnConvolutions>> convolutions_;
};

std::string DeviceText(const CudaDevice& device) {
  return fmt::format("{} sm_{}", device.model(), device.compute_capability());
}

PlanTimer TimerFor(CudaDevice& device, const CudaLibraryOptions& options) {
  return options.deterministic ? PlanTimer() : MakePlanTimer(device);
}

absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> OpenProducts(CudaDevice& device, const CudaLibraryOptions& options,
                                                              PlanCache* plans) {
  RETURN_IF_ERROR(device.context().Activate());
  ASSIGN_OR_RETURN(const CublasLtApi api, LoadCublasLt());
  return CublasLtMatMuls::Create(
      api, {options.allow_tf32, DeviceText(device), TimerFor(device, options), MakePlanLoader(device)}, plans);
}

absl::StatusOr<std::shared_ptr<CudnnConvolutions>> OpenConvolutions(CudaDevice& device,
                                                                    const CudaLibraryOptions& options,
                                                                    PlanCache* plans) {
  RETURN_IF_ERROR(device.context().Activate());
  ASSIGN_OR_RETURN(const CudnnApi api, LoadCudnn());
  CudnnOptions cudnn;
  cudnn.allow_tf32 = options.allow_tf32;
  cudnn.deterministic = options.deterministic;
  cudnn.device = DeviceText(device);
  cudnn.timer = TimerFor(device, options);
  cudnn.load = MakePlanLoader(device);
  cudnn.tell = options.tell;
  return CudnnConvolutions::Create(api, cudnn, plans);
}

}  // namespace

std::shared_ptr<ForeignKernels> OpenCudaLibraries(CudaDevice& device, const CudaLibraryOptions& options,
                                                  PlanCache* plans) {
  return std::make_shared<CudaLibraries>(device, options.allow_tf32, OpenProducts(device, options, plans),
                                         OpenConvolutions(device, options, plans));
}

}  // namespace partita
