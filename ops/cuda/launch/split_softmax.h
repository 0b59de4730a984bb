// Launches of softmax in pieces (ops/definitions/split_softmax.cc), on rows of the classes that a rank has.
#ifndef PARTITA_OPS_CUDA_LAUNCH_SPLIT_SOFTMAX_H_
#define PARTITA_OPS_CUDA_LAUNCH_SPLIT_SOFTMAX_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/labelled_rows.h"
#include "ops/cuda/launch/launch.h"

namespace partita::launch {

// x [rows, classes]; the others [rows].
LaunchError RowMaximum(DType dtype, int64_t rows, int64_t classes, const void* x, void* maximum, CudaQueue queue);
LaunchError RowExponentials(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum, void* sum,
                            CudaQueue queue);
// dx may be x.
LaunchError RowExponentialsGrad(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* dsum, void* dx, CudaQueue queue);
// y may be x.
LaunchError SoftmaxNormalize(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                             const void* sum, void* y, CudaQueue queue);
LaunchError SoftmaxNormalizeGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy,
                                 const void* sum, void* dsum, CudaQueue queue);
// y may be x.
LaunchError LogSoftmaxNormalize(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* sum, void* y, CudaQueue queue);
LaunchError LogSoftmaxNormalizeGrad(DType dtype, int64_t rows, int64_t classes, const void* dy, const void* sum,
                                    void* dsum, CudaQueue queue);

// A label that is no class makes the loss and its gradient NaN, and leaves a word.
// `workspace` has room for a double per row.
LaunchError CrossEntropyShares(DType dtype, const LabelledRows& rows, const void* maximum, const void* sum, void* loss,
                               double* workspace, CudaQueue queue);
LaunchError CrossEntropyLogitsGrad(DType dtype, const LabelledRows& rows, const void* dloss, void* dlogits,
                                   CudaQueue queue);
// Of rows without logits; dsum may be sum.
LaunchError CrossEntropySumGrad(DType dtype, const LabelledRows& rows, const void* sum, const void* dloss, void* dsum,
                                CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_SPLIT_SOFTMAX_H_
