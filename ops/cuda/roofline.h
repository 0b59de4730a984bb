// The least time that a node can take on a GPU with known limits.
#ifndef PARTITA_OPS_CUDA_ROOFLINE_H_
#define PARTITA_OPS_CUDA_ROOFLINE_H_

#include "runtime/exec/kernel.h"

namespace partita {

// What a GPU does at most in a second.
struct GpuPeaks {
  double f64 = 0, f32 = 0;    // floating-point operations
  double tf32 = 0, bf16 = 0;  // the same of products on tensor cores, without sparsity
  double memory_bytes = 0;    // read and written
  double cache_bytes = 0;     // of the cache that all multiprocessors share: its size, not a rate; 0: unknown
};

// Products and convolutions compute at the peak of their operands' type, in f32 at that of TF32 where it is allowed;
// everything else in f32 or f64. Each operand is read or written once, but for the weights of an LSTM that are larger
// than the cache: every place reads all of them, so none are left there when the next place begins.
Roofline RooflineOf(const LocalNode& node, const GpuPeaks& peaks, bool allow_tf32);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_ROOFLINE_H_
