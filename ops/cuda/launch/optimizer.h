// Launches of the updates. Learning rate, clip scale, step number and whether the step is applied are read from device
// memory, so a captured step never changes. Many tensors go in one launch.
#ifndef PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_
#define PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/updates/update.h"
#include "ops/values/learning_rate_schedule.h"

namespace partita::launch {

LaunchError LearningRate(DType dtype, const LearningRateSchedule& schedule, const int32_t* step, void* rate,
                         CudaQueue queue);
LaunchError Increment(const int32_t* from, const int32_t* apply, int32_t* to, CudaQueue queue);
// 1 or 0; `sum_of_squares` may be null, `refused` as in KernelArguments.
LaunchError AllFinite(DType dtype, const void* loss, const void* sum_of_squares, uint64_t* refused, int32_t* apply,
                      CudaQueue queue);

// The three before as one, and ClipScale where `clip` is not null; `sum_of_squares` may be null without it. `next` may
// be `iteration`.
struct StepScalarAddresses {
  const void *loss = nullptr, *sum_of_squares = nullptr;
  const int32_t* iteration = nullptr;
  uint64_t* refused = nullptr;
  int32_t* apply = nullptr;
  void* rate = nullptr;
  int32_t* next = nullptr;
  void* clip = nullptr;
};
LaunchError StepScalars(DType dtype, const LearningRateSchedule& schedule, double max_norm,
                        const StepScalarAddresses& scalars, CudaQueue queue);
LaunchError ClipScale(DType dtype, const void* sum_of_squares, double max_norm, void* scale, CudaQueue queue);

// What groups of parameters differ in.
template <typename F>
struct UpdateSet {
  GroupUpdate<F> update;
  const void* clip = nullptr;  // null: 1
};

// Parameters per launch.
inline constexpr int kUpdateSets = 4;

// Where the sums of squares of w and g are. Empty where no norm is read, so that a description is no larger.
template <bool kReads>
struct NormAddresses {};
template <>
struct NormAddresses<true> {
  const void *w_squares = nullptr, *g_squares = nullptr;
};

// One parameter with its slots (at least one place, so that an array has a size). The outputs may be the inputs they
// replace. `rounded`: where the new w goes once more, in bf16 (null: nowhere). `narrow_gradient`: g is bf16, as if it
// was cast. `set`: which of the launch's sets is its own.
template <typename F>
struct UpdateTensor : NormAddresses<ReadsNorms<F>> {
  static constexpr int kPlaces = kSlotsOf<F> == 0 ? 1 : kSlotsOf<F>;
  const void *w = nullptr, *g = nullptr;
  void* new_w = nullptr;
  const void* slots[kPlaces] = {};
  void* new_slots[kPlaces] = {};
  int64_t elements = 0;
  void* rounded = nullptr;
  bool narrow_gradient = false;
  int set = 0;
};

// Scalars in device memory, which all parameters of a launch share.
struct UpdateAddresses {
  const void* rate = nullptr;
  const int32_t* apply = nullptr;      // null: 1
  const int32_t* iteration = nullptr;  // null where it is not read
};

// Updates `count` parameters in as few launches as hold their descriptions, of at most kUpdateSets sets. Instantiated
// for every F of PARTITA_UPDATES.
template <typename F>
LaunchError Update(DType dtype, const UpdateSet<F>* sets, int set_count, const UpdateAddresses& scalars,
                   const UpdateTensor<F>* tensors, int count, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_OPTIMIZER_H_
