// The steps of an LSTM, each of whose launches multiplies by itself.
#include <algorithm>

#include "ops/cuda/kernel/lstm_loop.h"
#include "ops/cuda/launch/product_tiles.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaLstm(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LstmLoop::Of(node));
  int64_t partial_bytes = 0, counters = 0;
  for (const launch::LstmProduct product : loop.products()) {
    const ProductTiles tiles = MakeProductTiles(SizesOf(product, loop.sizes()));
    partial_bytes = std::max(partial_bytes, tiles.partial_elements() * SizeOf(AccumulatorOf(loop.dtype())));
    counters = std::max(counters, tiles.counters());
  }
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = loop.workspace_bytes() + partial_bytes;
  kernel.explain = [loop](uint64_t word) { return loop.Explain(word); };
  kernel.bind = [loop, counters](const KernelArguments& arguments) -> absl::StatusOr<CudaEnqueue> {
    ASSIGN_OR_RETURN(const std::shared_ptr<const FinishCounters> held, FinishCounters::Reserve(counters));
    const SumScratch scratch{static_cast<char*>(arguments.workspace) + loop.workspace_bytes(), held->first()};
    const auto products = [scratch](launch::LstmProduct, const void* x, const void* w, CudaQueue) {
      return launch::LstmSums{nullptr, x, w, scratch};
    };
    return CudaEnqueue(
        [loop, arguments, products, held](CudaQueue queue) { return loop.Enqueue(arguments, products, queue); });
  };
  return kernel;
}

// A product of more rows keeps a GPU busy for longer than a launch takes, and a library's is faster. So it is where
// rows are not made of whole vectors, which blocks load ahead.
absl::StatusOr<PreparedCudaKernel> CudaLstmOfFewRows(const LocalNode& node) {
  constexpr int64_t kFewRows = 128, kVectorBytes = 16;
  ASSIGN_OR_RETURN(const LstmLoop loop, LstmLoop::Of(node));
  const LstmSizes& s = loop.sizes();
  if (s.samples > kFewRows) {
    return InvalidArgument("the block has {} samples; a library multiplies more than {} faster", s.samples, kFewRows);
  }
  for (const int64_t elements : {s.units, s.outputs}) {
    const int64_t bytes = elements * SizeOf(loop.dtype());
    if (bytes % kVectorBytes == 0) continue;
    return InvalidArgument(
        "a row of {} elements has {} bytes; a library multiplies rows faster that are no multiple of {}", elements,
        bytes, kVectorBytes);
  }
  return CudaLstm(node);
}

}  // namespace partita
