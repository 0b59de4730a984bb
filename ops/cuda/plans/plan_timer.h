// How plans of libraries are timed. A function, so that a test can say what the times are.
#ifndef PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_
#define PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "ops/cuda/launch/launch.h"

namespace partita {

// Seconds of one `run` on fresh device memory of `bytes` bytes: run(memory, queue) enqueues it.
using PlanTimer =
    std::function<absl::StatusOr<double>(int64_t bytes, const std::function<absl::Status(char*, CudaQueue)>& run)>;

inline constexpr int kTimedPlans = 8;  // of the heuristics' list

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_
