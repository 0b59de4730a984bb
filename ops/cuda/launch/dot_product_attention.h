// Launches of scaled dot-product attention (ops/functors/attention.h). query and output [n,q,h,.], keys and
// values [n,k,g,.] are of the dtype; lse [n,h,q] and workspaces are of its accumulator.
#ifndef PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_
#define PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/attention.h"

namespace partita::launch {

struct DotProductInputs {
  DotProductSizes sizes;
  const void *query, *keys, *values;
  const int32_t* lengths;  // null: all keys
};

// Queries of a sample with an invalid length become NaN, and `fault` (may be null) receives a LabelFault's word.
struct DotProductOutputs {
  uint64_t* fault;
  void *output, *lse;
};
LaunchError DotProductForward(DType dtype, const DotProductInputs& inputs, const DotProductOutputs& outputs,
                              CudaQueue queue);

struct DotProductGradients {
  const void *doutput, *output, *lse;
  void *dquery, *dkeys, *dvalues;
  void* means;  // workspace [n,h,q]: of the gradients of a query's probabilities
};
LaunchError DotProductGrad(DType dtype, const DotProductInputs& inputs, const DotProductGradients& gradients,
                           CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_
