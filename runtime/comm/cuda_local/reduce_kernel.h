// The arithmetic of reductions among ranks that share a GPU.
#ifndef PARTITA_RUNTIME_COMM_CUDA_LOCAL_REDUCE_KERNEL_H_
#define PARTITA_RUNTIME_COMM_CUDA_LOCAL_REDUCE_KERNEL_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "graph/value/reduction.h"

namespace partita {

// The kernel's one argument: out[o][i] = ((in[0][i] + in[1][i]) + in[2][i]) + ..., i < count, for every o. An output
// may be the same place as an input.
struct ReduceArguments {
  static constexpr int kMostRanks = 16;
  static constexpr unsigned kThreads = 256;

  const void* in[kMostRanks];
  void* out[kMostRanks];
  int inputs;
  int outputs;
  int64_t count;

  unsigned blocks() const {
    const int64_t blocks = (count + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < 4096 ? blocks : 4096);
  }
};

// The __global__ function; null for types that cannot be reduced (u8).
const void* ReduceKernel(Reduction reduction, DType dtype);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_CUDA_LOCAL_REDUCE_KERNEL_H_
