// Reads the sizes at which a model is measured from flags.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_SIZES_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_SIZES_H_

#include "absl/status/status.h"
#include "proto/run.pb.h"
#include "tools/benchmarks/benchmark.pb.h"
#include "tools/benchmarks/models/measured_models.h"

namespace partita {

// By "batch" and the flags of sizes, where they are given. A flag error: "image-size" of a model of words, or the other
// sizes of one of images.
absl::Status SetSizes(const BenchmarkSpec& spec, MeasuredModel& model);

// The machine whose step times are predicted.
MachineSpec MachineFor(const BenchmarkSpec& spec);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_SIZES_H_
