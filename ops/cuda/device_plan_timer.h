// Plans of libraries timed as a step runs them: repetitions are captured into one graph, and events inside it, before
// the first and behind the last, measure how long the GPU took. The host's clock would measure what the calls cost,
// which is more than a kernel of some microseconds takes.
//
// Each plan runs once to load its code and once for a first time. Only plans within 3 times the least first time are
// measured with care, by the median of a few replays.
#ifndef PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_
#define PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_

#include "ops/cuda/plans/plan_timer.h"
#include "runtime/device/cuda/cuda_device.h"

namespace partita {

// On memory and a stream of its own of `device`, which must outlive the timer. The memory holds random finite numbers.
// A plan that cannot be captured has an error, because no step could run it.
PlanTimer MakePlanTimer(CudaDevice& device);

// The same memory and stream. A plan for which the device has no room is not run, and is no error.
PlanLoader MakePlanLoader(CudaDevice& device);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_
