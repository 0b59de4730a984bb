// Times plans of libraries. A function, so that a test can say what the times are.
#ifndef PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_
#define PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/cuda/launch/launch.h"

namespace partita {

// run(memory, queue) enqueues the plan on `bytes` bytes of device memory.
struct PlanToTime {
  int64_t bytes = 0;
  std::function<absl::Status(char*, CudaQueue)> run;
};

// Seconds of one run of each plan, or why it has none. The plans are alternatives: only the least time is measured with
// care.
using PlanTimer = std::function<std::vector<absl::StatusOr<double>>(const std::vector<PlanToTime>& plans)>;

// Runs a plan once, so that a library has loaded and set up what it needs before a step is captured.
using PlanLoader = std::function<absl::Status(const PlanToTime& plan)>;

struct FastestPlan {
  size_t place = 0;  // among the plans
  double seconds = 0;
};

// The first of the fastest. kUnavailable: none could be timed.
absl::StatusOr<FastestPlan> FindFastest(const PlanTimer& timer, const std::vector<PlanToTime>& plans);

inline constexpr int kTimedPlans = 8;  // of the heuristics' list

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_PLANS_PLAN_TIMER_H_
