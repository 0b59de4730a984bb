// Launches of scaled dot-product attention (ops/functors/attention.h). query and output [n,q,h,.], keys and
// values [n,k,g,.] are of the dtype; lse [n,h,q], bias and workspaces are of its accumulator.
#ifndef PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_
#define PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/attention.h"

namespace partita::launch {

// Which probabilities are dropped.
struct ScoreDropout {
  double rate = 0;
  uint64_t key = 0;
  const int32_t* iteration = nullptr;  // in device memory; null: 0
};

struct DotProductInputs {
  DotProductSizes sizes;
  const void *query, *keys, *values;
  const int32_t* lengths;  // null: all keys
  const void* bias;        // of the accumulator; null: none
  ScoreDropout dropout = {};
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
  void* means;            // workspace [n,h,q]: of the gradients of a query's probabilities
  void* dbias = nullptr;  // as the bias
};
LaunchError DotProductGrad(DType dtype, const DotProductInputs& inputs, const DotProductGradients& gradients,
                           CudaQueue queue);
// The gradient of the bias alone. `elements`: of the bias.
LaunchError DotProductBiasGrad(DType dtype, const DotProductInputs& inputs, const DotProductGradients& gradients,
                               int64_t elements, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_DOT_PRODUCT_ATTENTION_H_
