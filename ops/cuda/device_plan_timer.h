// Plans of libraries timed as a step runs them: repetitions are captured into one graph, and events inside it, before
// the first and behind the last, say how long the GPU took. The host's clock would tell what the calls cost: of a
// kernel of some microseconds that is more than the kernel.
#ifndef PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_
#define PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_

#include "ops/cuda/plans/plan_timer.h"
#include "runtime/device/cuda/cuda_device.h"

namespace partita {

// On memory and a stream of its own of `device`, which must outlive the timer: the median of a few replays. An error of
// a plan that cannot be captured, too: no step could run it.
PlanTimer MakePlanTimer(CudaDevice& device);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_DEVICE_PLAN_TIMER_H_
