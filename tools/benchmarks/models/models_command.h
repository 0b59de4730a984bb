// The commands `benchmark models`, and `benchmark loop`, which that starts.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_

#include "absl/status/statusor.h"
#include "tools/benchmarks/benchmark.pb.h"
#include "tools/program/program.h"

namespace partita {

absl::StatusOr<int> RunModels(const ContextOf<BenchmarkSpec>& context);
absl::StatusOr<int> RunLoop(const ContextOf<BenchmarkSpec>& context);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODELS_COMMAND_H_
