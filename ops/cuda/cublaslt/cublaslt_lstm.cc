// The loop of an LSTM (ops/cuda/kernel/lstm_loop.h) on the library's products, each planned once for all places.
#include <algorithm>
#include <map>

#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "ops/cuda/kernel/lstm_loop.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using launch::LstmProduct;

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

// Of the largest product.
int64_t SumsBytes(const LstmLoop& loop) {
  int64_t elements = 0;
  for (const LstmProduct product : loop.products()) {
    const launch::MatMulSizes sizes = SizesOf(product, loop.sizes());
    elements = std::max(elements, sizes.m * sizes.n);
  }
  return AlignUp(elements * SizeOf(AccumulatorOf(loop.dtype())));
}

// Behind the loop's workspace lie the sums of a product, then the library's.
PreparedCudaKernel KernelOf(const LstmLoop& loop, int64_t library_bytes) {
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = loop.workspace_bytes() + SumsBytes(loop) + library_bytes;
  kernel.library_launches = loop.library_launches();
  kernel.explain = [loop](uint64_t word) { return loop.Explain(word); };
  return kernel;
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CublasLtMatMuls::PrepareLstm(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LoopOf(node));
  std::map<LstmProduct, SharedPlan> plans;
  int64_t library_bytes = 0;
  for (const LstmProduct product : loop.products()) {
    ASSIGN_OR_RETURN(plans[product], FindPlan(ProductOf(product, loop)));
    // Rows of a place may lie anywhere.
    RETURN_IF_ERROR(plans[product]->unaligned.status());
    library_bytes = std::max(library_bytes, plans[product]->workspace_bytes());
  }
  PreparedCudaKernel kernel = KernelOf(loop, library_bytes);
  kernel.bind = [self = shared_from_this(), loop, plans](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
    char* const sums = static_cast<char*>(a.workspace) + loop.workspace_bytes();
    KernelArguments operands;
    operands.outputs = {sums};
    operands.workspace = sums + SumsBytes(loop);
    const auto products = [self, plans, operands](LstmProduct product, const void* x, const void* w,
                                                  CudaQueue queue) -> absl::StatusOr<launch::LstmSums> {
      KernelArguments own = operands;
      own.inputs = {x, w};
      const MatMulPlan& plan = *plans.at(product);
      RETURN_IF_ERROR(self->Run(plan, plan.operation.get(), own, queue));
      return launch::LstmSums{own.outputs[0]};
    };
    return CudaEnqueue([loop, a, products](CudaQueue queue) { return loop.Enqueue(a, products, queue); });
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
