// The least work of a training step of a model.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/kernels/device_limits.h"
#include "tools/benchmarks/models/model_case.h"

namespace partita {

// Of one step on one rank, for any split.
struct StepWork {
  double flops = 0;  // of the training graph's nodes
  std::vector<LaunchWork> launches;
};
absl::StatusOr<StepWork> WorkOfStep(const ModelCase& measured);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_
