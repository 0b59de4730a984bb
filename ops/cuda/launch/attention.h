// Launches of attention (ops/functors/attention.h). query [n,q,h], keys [n,t,h], values and context [n,.,c] are of the
// dtype; the scorer (v and bias [h], gain [1]), probabilities [n,q,t] and what lies in workspaces are of its
// accumulator.
#ifndef PARTITA_OPS_CUDA_LAUNCH_ATTENTION_H_
#define PARTITA_OPS_CUDA_LAUNCH_ATTENTION_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/functors/attention.h"

namespace partita::launch {

struct AttentionInputs {
  AttentionSizes sizes;
  const void *query, *keys, *values;
  const void *v, *gain, *bias;
};

// `weights`: workspace of h. A query of a sequence with an invalid length becomes NaN, and `fault` (may be null)
// receives a LabelFault's word.
struct AttentionOutputs {
  const int32_t* lengths;  // null: all places
  uint64_t* fault;
  void *context, *probabilities, *weights;
};
LaunchError AttentionContext(DType dtype, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                             CudaQueue queue);

struct AttentionGradients {
  const void *dcontext, *probabilities;
  void *dquery, *dkeys, *dvalues, *dv, *dgain, *dbias;
  // Workspaces: [h]; gradients of scores [n,q,t], f64; of each place what it adds to those of weights and bias,
  // [n,t,2,h], and their sums [2,h].
  void *weights, *dscores, *parts, *sums;
  SumScratch scratch;  // of a sum over ChunksOfParts
};
inline ColumnChunks ChunksOfParts(const AttentionSizes& sizes) {
  return MakeColumnChunks(1, sizes.samples * sizes.places, 2 * sizes.units);
}
LaunchError AttentionContextGrad(DType dtype, const AttentionInputs& inputs, const AttentionGradients& gradients,
                                 CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_ATTENTION_H_
