// Explains the step time of a plan: its critical path, where the time of its ranks goes, the purpose of its moves.
#ifndef PARTITA_PARTITIONER_EXPLAIN_EXPLANATION_H_
#define PARTITA_PARTITIONER_EXPLAIN_EXPLANATION_H_

#include <string>
#include <vector>

#include "partitioner/explain/critical_path.h"
#include "partitioner/explain/step_moves.h"
#include "partitioner/explain/step_shares.h"
#include "partitioner/predict/predicted_plan.h"

namespace partita {

struct Explanation {
  Arrivals arrivals;
  std::vector<PathStretch> path;
  TimeOfStep time;
  std::vector<StepMove> moves;

  // nullptr: the collective moves nothing between ranks.
  const StepMove* MoveOf(const CollectiveShares& collective) const;
  // Of the path, what launches of this name take.
  int64_t OnPath(const std::string& launch) const;
};

// The plan must outlive it.
Explanation Explain(const PredictedPlan& plan);

// "forward", "backward", "update"; for a collective with its group: "all_reduce along data".
std::string WorkOfGroup(const Program& program, const Launch& launch);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_EXPLANATION_H_
