// ParaDL's formulas beside the same strategies as plans that are simulated (docs/papers.md 14.3).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_STRATEGIES_TABLE_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_STRATEGIES_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/timeline/step_times.h"
#include "tests/partitioner/papers/six_strategies.h"

namespace partita {

struct ComparedStrategy {
  ParallelForm form = ParallelForm::kData;
  int devices = 1;
  EpochCost formula;    // of a step
  StepTimes simulated;  // of a step; the maximum over the devices
  std::string refusal;  // why there is no such plan on these devices; empty: there is one
};

// VGG-16 without dropout at 32 images a device, on each number of devices that the formulas speak of.
absl::StatusOr<std::vector<ComparedStrategy>> CompareStrategies(const std::vector<int>& devices = {4, 16});

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_STRATEGIES_TABLE_H_
