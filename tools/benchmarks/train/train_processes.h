// Training as processes, as a user starts it: `trainer launch`, and what its report says.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PROCESSES_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PROCESSES_H_

#include "absl/status/statusor.h"
#include "tools/benchmarks/train/train_benchmark.h"

namespace partita {

// As many replicas as processes, of one thread each, as many steps as a case trains in all rounds.
// kInternal: the job failed; what went wrong it says itself, on standard error.
absl::StatusOr<TrainRow> TrainAsProcesses(const TrainBenchmarkOptions& options, int replicas);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_PROCESSES_H_
