// What a training step of a model has to do at least, and how fast the device could do it.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_

#include "absl/status/statusor.h"
#include "tools/benchmarks/models/model_case.h"

namespace partita {

// Of the device, with all its threads.
struct DeviceLimits {
  double flops_per_s = 0;  // a large product of two matrices in the precision
  double bytes_per_s = 0;  // a large copy, read and written bytes counted
};
absl::StatusOr<DeviceLimits> MeasureLimits(const ModelCase& measured, int rounds);

// Of one step on one rank, whatever the split.
struct StepWork {
  double flops = 0;    // of the training graph's nodes
  double seconds = 0;  // sum over the launches of the larger of both: flops, and bytes of operands, each once
};
absl::StatusOr<StepWork> WorkOfStep(const ModelCase& measured, const DeviceLimits& limits);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_STEP_WORK_H_
