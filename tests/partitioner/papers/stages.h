// Consecutive layers in stages, so that the longest stage is as short as can be.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_STAGES_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_STAGES_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Where each stage ends (the first layer behind it), by each layer's time; no stage is empty. Exact, by dynamic
// programming: layers^2 x stages. kInvalidArgument: fewer layers than stages, or no stage.
absl::StatusOr<std::vector<size_t>> BalancedStages(const std::vector<double>& seconds, int stages);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_STAGES_H_
