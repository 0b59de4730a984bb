// Launches of the updates. Learning rate, clip scale and step number are read from device memory, so a captured step
// never changes. Many tensors go in one launch.
#ifndef PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_
#define PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/values/learning_rate_schedule.h"

namespace partita::launch {

LaunchError LearningRate(DType dtype, const LearningRateSchedule& schedule, const int32_t* step, void* rate,
                         CudaQueue queue);
LaunchError Increment(const int32_t* from, int32_t* to, CudaQueue queue);
LaunchError ClipScale(DType dtype, const void* sum_of_squares, double max_norm, void* scale, CudaQueue queue);

// One parameter. The outputs may be the inputs they replace; momenta are null for plain SGD.
struct SgdTensor {
  const void *w = nullptr, *g = nullptr, *m = nullptr;
  void *new_w = nullptr, *new_m = nullptr;
  int64_t elements = 0;
};

// What all parameters of a launch share.
struct SgdLaunch {
  const void* rate = nullptr;  // scalar in device memory
  const void* clip = nullptr;  // the same; null: 1
  double weight_decay = 0, momentum = 0;
  bool nesterov = false;
};

// Updates `count` parameters with momentum (all have m) or without (none has), in as few launches as hold their
// descriptions.
LaunchError Sgd(DType dtype, const SgdLaunch& sgd, const SgdTensor* tensors, int count, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_
