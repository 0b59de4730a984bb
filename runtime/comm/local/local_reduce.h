// The arithmetic of reductions.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_REDUCE_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_REDUCE_H_

#include <cstdint>
#include <span>

#include "graph/dtype.h"
#include "graph/reduction.h"

namespace partita {

struct LocalCall;

// to[i] = reduction over ranks of in[first + i], i < count: ((in0 + in1) + in2) + ... in ascending rank order, so the
// bits do not depend on who computes them. `to` may be the same place in one of the inputs. A NaN anywhere
// gives NaN, also for the maximum; i32 sums wrap around. Not for u8.
void ReduceElements(Reduction reduction, DType dtype, std::span<LocalCall* const> calls, int64_t first, int64_t count,
                    void* to);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_REDUCE_H_
