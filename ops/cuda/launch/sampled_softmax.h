// Launches of the sampled softmax.
#ifndef PARTITA_OPS_CUDA_LAUNCH_SAMPLED_SOFTMAX_H_
#define PARTITA_OPS_CUDA_LAUNCH_SAMPLED_SOFTMAX_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/labelled_rows.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/sampled_softmax.h"

namespace partita::launch {

// The first `samples` different classes of `most` draws, and how many draws they took (`most`, and ids that are -1, if
// that was not enough). `workspace`: workspace_bytes().
struct DifferentDraws {
  LogUniform uniform;
  int64_t samples = 0, most = 0;
  uint64_t key = 0;
  const int32_t* iteration = nullptr;
  int32_t *ids = nullptr, *draws = nullptr;

  int64_t workspace_bytes() const { return most * 2 * static_cast<int64_t>(sizeof(int32_t)); }
};
LaunchError DrawDifferent(const DifferentDraws& draws, int32_t* workspace, CudaQueue queue);

// `labels` has labels, weights and the divisor of rows of `classes` samples; `workspace` a correction of each sample,
// and for the loss a double for each row behind them.
struct SampledRows {
  LabelledRows labels;
  LogUniform uniform;
  const void *own = nullptr, *logits = nullptr;
  const int32_t *ids = nullptr, *draws = nullptr;

  int64_t correction_bytes() const { return labels.classes * static_cast<int64_t>(sizeof(double)); }
  int64_t loss_bytes() const { return correction_bytes() + labels.rows * static_cast<int64_t>(sizeof(double)); }
};
LaunchError SampledCrossEntropy(DType dtype, const SampledRows& rows, void* loss, double* workspace, CudaQueue queue);
LaunchError SampledCrossEntropyGrad(DType dtype, const SampledRows& rows, const void* dloss, void* down, void* dlogits,
                                    double* workspace, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_SAMPLED_SOFTMAX_H_
