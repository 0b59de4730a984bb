// The steps of an LSTM with products of our own.
#include "ops/cuda/kernel/lstm_loop.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaLstm(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LstmLoop::Of(node));
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = loop.workspace_bytes();
  kernel.explain = [loop](uint64_t word) { return loop.Explain(word); };
  kernel.bind = [loop](const KernelArguments& arguments) -> absl::StatusOr<CudaEnqueue> {
    const auto multiply = [loop](LstmProduct product, const void* x, const void* w, void* y, CudaQueue queue) {
      return LaunchStatus(launch::WideMatMul(loop.dtype(), SizesOf(product, loop.sizes()), {}, x, w, y, queue));
    };
    return CudaEnqueue(
        [loop, arguments, multiply](CudaQueue queue) { return loop.Enqueue(arguments, multiply, queue); });
  };
  return kernel;
}

}  // namespace partita
