#include "ops/cuda/cuda_libraries.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "ops/cuda/stream_queue.h"

namespace partita {
namespace {

template <typename T>
absl::StatusOr<PreparedCudaKernel> PrepareBy(const absl::StatusOr<std::shared_ptr<T>>& library, const LocalNode& node) {
  if (!library.ok()) return library.status();
  return (*library)->Prepare(node);
}

class CudaLibraries : public ForeignKernels {
 public:
  CudaLibraries(CudaDevice& device, absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> products,
                absl::StatusOr<std::shared_ptr<CudnnConvolutions>> convolutions)
      : device_(device), products_(std::move(products)), convolutions_(std::move(convolutions)) {}

  absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode& node) override {
    RETURN_IF_ERROR(device_.context().Activate());
    return PrepareBy(products_, node);
  }
  absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode& node) override {
    RETURN_IF_ERROR(device_.context().Activate());
    return PrepareBy(convolutions_, node);
  }

 private:
  CudaDevice& device_;
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
  return CublasLtMatMuls::Create(api, {options.allow_tf32, DeviceText(device), TimerFor(device, options)}, plans);
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
  return CudnnConvolutions::Create(api, cudnn, plans);
}

// Seconds of one of `repetitions` runs.
absl::StatusOr<double> TimeRuns(CudaStream& stream, char* memory, int repetitions,
                                const std::function<absl::Status(char*, CudaQueue)>& run) {
  const auto start = std::chrono::steady_clock::now();
  StreamQueue queue(stream);
  for (int i = 0; i < repetitions; ++i) {
    const absl::Status status = run(memory, &queue);
    RETURN_IF_ERROR(queue.status());
    RETURN_IF_ERROR(status);
  }
  RETURN_IF_ERROR(stream.Synchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repetitions;
}

}  // namespace

PlanTimer MakePlanTimer(CudaDevice& device) {
  return [&device](int64_t bytes, const std::function<absl::Status(char*, CudaQueue)>& run) -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Arena> memory, device.Allocate(bytes));
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("timing"));
    auto& cuda_stream = static_cast<CudaStream&>(*stream);
    char* const data = static_cast<char*>(memory->data());
    RETURN_IF_ERROR(TimeRuns(cuda_stream, data, 3, run).status());
    std::vector<double> seconds;
    for (int round = 0; round < 5; ++round) {
      ASSIGN_OR_RETURN(const double value, TimeRuns(cuda_stream, data, 10, run));
      seconds.push_back(value);
    }
    std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
    return seconds[2];
  };
}

std::shared_ptr<ForeignKernels> OpenCudaLibraries(CudaDevice& device, const CudaLibraryOptions& options,
                                                  PlanCache* plans) {
  return std::make_shared<CudaLibraries>(device, OpenProducts(device, options, plans),
                                         OpenConvolutions(device, options, plans));
}

}  // namespace partita
