// Launches of softmax, losses and accuracy on rows of logits. A GPU cannot refuse a label that is no class: the results
// are NaN, and a word for the host says which label it was.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LOSS_H_
#define PARTITA_OPS_CUDA_LAUNCH_LOSS_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/labelled_rows.h"
#include "ops/cuda/launch/launch.h"

namespace partita::launch {

// y may be x, and dx dy.
LaunchError Softmax(DType dtype, int64_t rows, int64_t classes, const void* x, void* y, CudaQueue queue);
LaunchError SoftmaxGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy, void* dx,
                        CudaQueue queue);
LaunchError LogSoftmax(DType dtype, int64_t rows, int64_t classes, const void* x, void* y, CudaQueue queue);
LaunchError LogSoftmaxGrad(DType dtype, int64_t rows, int64_t classes, const void* y, const void* dy, void* dx,
                           CudaQueue queue);

// `workspace` has room for a double per row.
LaunchError CrossEntropy(DType dtype, const LabelledRows& rows, void* loss, double* workspace, CudaQueue queue);
// The label is among the first `top` classes.
LaunchError Accuracy(DType dtype, const LabelledRows& rows, int64_t top, void* accuracy, double* workspace,
                     CudaQueue queue);

// The sum of the weights of the rows that are not ignored.
LaunchError CountLabels(DType dtype, const LabelledRows& rows, void* count, double* workspace, CudaQueue queue);

// `dloss` is a scalar in device memory (null: 1); dlogits may be the logits.
LaunchError CrossEntropyGrad(DType dtype, const LabelledRows& rows, const void* dloss, void* dlogits, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LOSS_H_
