// The objective by which `plan` compares plans and which it reports: --objective and --curve.
#ifndef PARTITA_RUN_PLAN_OBJECTIVE_H_
#define PARTITA_RUN_PLAN_OBJECTIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "partitioner/choose/objective.h"
#include "proto/run.pb.h"

namespace partita {

// The step time if the command has no such flags. Errors of the curve name its file.
absl::StatusOr<Objective> ReadObjective(const RunSpec& spec);

// Samples of a step of the user's graph, as the objective's curve has them; 0: the graph's inputs do not say, and no
// curve asks. kInvalidArgument: one does.
absl::StatusOr<int64_t> BatchFor(const Objective& objective, const Graph& forward);

// Settings to search with, on `ranks` or, without --ranks, fewer; with the graph's batch or, without --batch, larger
// ones. Batches that the curve does not cover are skipped, with a sentence for each. kInvalidArgument: it covers none.
struct SearchSettings {
  std::vector<Setting> searched;  // at least one
  std::vector<std::string> left_out;
};
absl::StatusOr<SearchSettings> ReadSettings(const RunSpec& spec, const Objective& objective, int ranks, int64_t batch);

// The sentence.
std::string WhyLeftOut(const Setting& setting, const absl::Status& why);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_OBJECTIVE_H_
