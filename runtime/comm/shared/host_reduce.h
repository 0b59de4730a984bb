// The arithmetic of reductions.
#ifndef PARTITA_RUNTIME_COMM_SHARED_HOST_REDUCE_H_
#define PARTITA_RUNTIME_COMM_SHARED_HOST_REDUCE_H_

#include <cstdint>
#include <span>

#include "graph/value/dtype.h"
#include "graph/value/reduction.h"

namespace partita {

// to[i] = reduction over ranks of inputs[rank][i], i < count: ((in0 + in1) + in2) + ... in ascending rank order, so the
// result is bitwise identical on every rank and in every communicator. `to` may be the same place as one of the inputs.
// A NaN anywhere gives NaN, also for the maximum; i32 sums wrap around. Not for u8.
void ReduceElements(Reduction reduction, DType dtype, std::span<const void* const> inputs, int64_t count, void* to);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_HOST_REDUCE_H_
