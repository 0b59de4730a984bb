// The CUDA runtime, cuBLASLt, cuDNN and NCCL of a program that is linked with this: the functions by which the product
// comes to them are defined here, and so are the launches of kernels, which run on fibers; the linker takes the first
// definitions that it finds.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/cuda/cublaslt/cublaslt_api.h"
#include "ops/cuda/cudnn/cudnn_api.h"
#include "ops/cuda/launch/launch.h"
#include "runtime/base/status.h"
#include "runtime/comm/nccl/nccl_api.h"
#include "runtime/device/cuda/cuda_api.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"
#include "tests/ops/cuda/fibers/fiber_queue.h"
#include "tests/ops/cuda/fibers/kernels.h"
#include "tests/runtime/comm/nccl/emulated/emulated_nccl.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

constexpr int kMisused = 99;  // the exit code of a program that has used a library as it may not

int Asked(const char* variable, int otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

class EmulatedGpu {
 public:
  EmulatedGpu() {
    cuda.devices = Asked("PARTITA_EMULATED_GPUS", 1);
    cuda.seed = static_cast<uint64_t>(Asked("PARTITA_EMULATED_SEED", 1));
    cuda.model = "Emulated GPU";
    cuda.memory = int64_t{16} << 30;
    for (const void* kernel : fibers::KernelAddresses()) {
      cuda.Register(kernel, [kernel](dim3 grid, dim3 block, void** arguments) {
        return OnFibers(*fibers::FindKernel(kernel), kernel, grid, block, arguments);
      });
    }
    SetUp(products);
    SetUp(convolutions);
    cuda.lazy = true;
    products.breaks_capture = FakeCuda::BreakCapture;
    convolutions.breaks_capture = FakeCuda::BreakCapture;
    cuda.StartThread();
  }

  FakeCuda cuda;
  FakeCublasLt products;
  FakeCudnn convolutions;
  EmulatedNccl collectives{cuda};

 private:
  // What a library enqueues is work of the fake's streams, and touches memory of the GPU alone.
  template <typename Library>
  static void SetUp(Library& library) {
    library.enqueue = [](cudaStream_t stream, std::function<void()> run) {
      FakeCuda::Enqueue(stream, std::move(run), nullptr);
    };
    library.reaches = [](const void* data, int64_t bytes) {
      if (FakeCuda::OwnerOf(data, bytes) >= 0) return true;
      FakeCuda::Fault(cudaErrorIllegalAddress, "a library's work lies outside of the GPU's memory");
      return false;
    };
  }

  // Empty: the arguments are too many.
  static std::function<void()> OnFibers(const fibers::Kernel& kernel, const void* address, dim3 grid, dim3 block,
                                        void** arguments) {
    if (kernel.argument_bytes > fibers::kMostArgumentBytes) return {};
    const LaunchShape shape{grid.x, static_cast<int>(block.x), static_cast<int>(block.y)};
    return [shape, name = &kernel.name, thread = kernel.bind(address, arguments)] {
      static const int fault_at = Asked("PARTITA_EMULATED_FAULT_AT", 0);
      static int launches = 0;
      if (++launches == fault_at) return FakeCuda::Fault(cudaErrorIllegalAddress, "kernel " + *name + ": planted");
      static std::mt19937_64& order = *new std::mt19937_64();
      static fibers::Memory& unlimited = *new fibers::Memory();
      const std::string failure = fibers::RunGrid(shape, thread, unlimited, order);
      if (!failure.empty()) FakeCuda::Fault(cudaErrorLaunchFailure, "kernel " + *name + ": " + failure);
    };
  }
};

EmulatedGpu& TheGpu();

// What can be said only when the program is over fails it.
void Judge() {
  EmulatedGpu& gpu = TheGpu();
  gpu.collectives.AwaitEnds();
  std::vector<std::string> wrong = gpu.collectives.reports();
  for (const auto* refusals : {&gpu.products.refusals, &gpu.convolutions.refusals}) {
    wrong.insert(wrong.end(), refusals->begin(), refusals->end());
  }
  if (wrong.empty()) return;
  for (const std::string& sentence : wrong) std::fprintf(stderr, "emulated GPU: %s\n", sentence.c_str());
  _exit(kMisused);
}

// It lives for as long as the process: its thread may have work at the end.
EmulatedGpu& TheGpu() {
  static EmulatedGpu& gpu = *[] {
    std::atexit(Judge);
    return new EmulatedGpu();
  }();
  return gpu;
}

}  // namespace

const CudaApi& RealCudaApi() { return TheGpu().cuda.api(); }
absl::StatusOr<CublasLtApi> LoadCublasLt() { return TheGpu().products.api(); }
absl::StatusOr<CudnnApi> LoadCudnn() { return TheGpu().convolutions.api(); }
absl::StatusOr<const NcclApi*> LoadNccl() { return &TheGpu().collectives.api(); }

}  // namespace partita
