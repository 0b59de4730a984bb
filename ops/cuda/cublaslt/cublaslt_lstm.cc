// The loop of an LSTM (ops/cuda/kernel/lstm_loop.h) on the library's products, each planned once for all places.
#include <algorithm>
#include <map>

#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "ops/cuda/kernel/lstm_loop.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

MatMulProduct ProductOf(LstmProduct product, const LstmLoop& loop) {
  const launch::MatMulSizes sizes = SizesOf(product, loop.sizes());
  return {static_cast<uint64_t>(sizes.m),
          static_cast<uint64_t>(sizes.n),
          static_cast<uint64_t>(sizes.k),
          sizes.transpose_x,
          sizes.transpose_w,
          loop.dtype(),
          AccumulatorOf(loop.dtype()),
          {},
          std::nullopt};
}

absl::StatusOr<LstmLoop> LoopOf(const LocalNode& node) {
  ASSIGN_OR_RETURN(LstmLoop loop, LstmLoop::Of(node));
  if (loop.sizes().samples == 0) return InvalidArgument("the block is empty");
  return loop;
}

PreparedCudaKernel KernelOf(const LstmLoop& loop, int64_t library_bytes) {
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = loop.workspace_bytes() + library_bytes;
  kernel.library_launches = loop.launches();
  kernel.explain = [loop](uint64_t word) { return loop.Explain(word); };
  return kernel;
}

}  // namespace

// The library's part of the workspace lies behind the loop's.
absl::StatusOr<PreparedCudaKernel> CublasLtMatMuls::PrepareLstm(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LoopOf(node));
  std::map<LstmProduct, SharedPlan> plans;
  int64_t library_bytes = 0;
  for (const LstmProduct product : loop.products()) {
    ASSIGN_OR_RETURN(plans[product], FindPlan(ProductOf(product, loop)));
    library_bytes = std::max(library_bytes, plans[product]->workspace_bytes());
  }
  PreparedCudaKernel kernel = KernelOf(loop, library_bytes);
  kernel.bind = [self = shared_from_this(), loop, plans](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
    KernelArguments operands;
    operands.workspace = static_cast<char*>(a.workspace) + loop.workspace_bytes();
    const auto multiply = [self, plans, operands](LstmProduct product, const void* x, const void* w, void* y,
                                                  CudaQueue queue) -> absl::Status {
      KernelArguments own = operands;
      own.inputs = {x, w};
      own.outputs = {y};
      const MatMulPlan& plan = *plans.at(product);
      return self->Run(plan, plan.operation.get(), own, queue);
    };
    return CudaEnqueue([loop, a, multiply](CudaQueue queue) { return loop.Enqueue(a, multiply, queue); });
  };
  return kernel;
}

absl::StatusOr<PreparedCudaKernel> EstimateLstm(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LoopOf(node));
  PreparedCudaKernel kernel = KernelOf(loop, static_cast<int64_t>(kMostWorkspace) + kMostSkipped);
  kernel.workspace_estimated = true;
  kernel.bind = [](const KernelArguments&) -> absl::StatusOr<CudaEnqueue> {
    return Unavailable("the kernel's GPU is described, it is not here");
  };
  return kernel;
}

}  // namespace partita
