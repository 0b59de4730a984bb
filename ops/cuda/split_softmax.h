// Launches of softmax in pieces (ops/split_softmax.cc), on rows of the classes that a rank has.
#ifndef PARTITA_OPS_CUDA_SPLIT_SOFTMAX_H_
#define PARTITA_OPS_CUDA_SPLIT_SOFTMAX_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/cuda/label_fault.h"
#include "ops/cuda/launch.h"

namespace partita::launch {

// x [rows, classes]; the others [rows].
LaunchError RowMaximum(DType dtype, int64_t rows, int64_t classes, const void* x, void* maximum, CudaQueue queue);
LaunchError RowExponentials(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum, void* sum,
                            CudaQueue queue);
// dx may be x.
LaunchError RowExponentialsGrad(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* dsum, void* dx, CudaQueue queue);
// y may be x.
LaunchError LogSoftmaxNormalize(DType dtype, int64_t rows, int64_t classes, const void* x, const void* maximum,
                                const void* sum, void* y, CudaQueue queue);
LaunchError LogSoftmaxNormalizeGrad(DType dtype, int64_t rows, int64_t classes, const void* dy, const void* sum,
                                    void* dsum, CudaQueue queue);

// A label that is no class makes the loss and its gradient NaN, and leaves a word.
struct LabelledBlockLaunch {
  int64_t rows = 0, classes = 0;             // of the block
  int64_t all_classes = 0, first_class = 0;  // `first_class`: of the block's first column
  double global_rows = 0;
  double smoothing = 0;
  const int32_t* labels = nullptr;
  const void* weights = nullptr;  // null: every sample counts once
  uint64_t* fault = nullptr;      // gets a LabelFault's word, if there is one; null: nobody asks
};

// `workspace` has room for a double per row.
LaunchError CrossEntropyShares(DType dtype, const LabelledBlockLaunch& block, const void* logits, const void* maximum,
                               const void* sum, void* loss, double* workspace, CudaQueue queue);
LaunchError CrossEntropyLogitsGrad(DType dtype, const LabelledBlockLaunch& block, const void* dloss, void* dlogits,
                                   CudaQueue queue);
// dsum may be sum.
LaunchError CrossEntropySumGrad(DType dtype, int64_t rows, double global_rows, const void* sum, const void* weights,
                                const void* dloss, void* dsum, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_SPLIT_SOFTMAX_H_
