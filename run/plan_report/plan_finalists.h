// The plans that searches found, for programs: the complete table of which the text shows a part
// (partitioner/choose/ranked_finalists.h).
#ifndef PARTITA_RUN_PLAN_REPORT_PLAN_FINALISTS_H_
#define PARTITA_RUN_PLAN_REPORT_PLAN_FINALISTS_H_

#include <vector>

#include "partitioner/choose/candidate.h"
#include "proto/plan.pb.h"

namespace partita {

// Ranked ones, the chosen one first; `ranks` and the batch of each where it is known.
void AddFinalists(const std::vector<Finalist>& finalists, PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_PLAN_FINALISTS_H_
