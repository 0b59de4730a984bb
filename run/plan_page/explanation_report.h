// The output of `plan --explain`: the critical path of a predicted step, where its time goes, and the alternatives.
#ifndef PARTITA_RUN_PLAN_PAGE_EXPLANATION_REPORT_H_
#define PARTITA_RUN_PLAN_PAGE_EXPLANATION_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partitioner/choose/candidate.h"
#include "partitioner/explain/explanation.h"

namespace partita {

struct ExplainedPlan {
  std::string model, cluster;
  const PredictedPlan& plan;
  const Explanation& explanation;
  const std::vector<Finalist>& finalists;    // of a search, the chosen one first; empty: nothing was searched
  std::optional<int64_t> memory_limit = {};  // of a rank
};

// `full`: every launch of the path and every collective, else the largest.
std::string ExplanationToText(const ExplainedPlan& explained, bool full);
std::string ExplanationToJson(const ExplainedPlan& explained);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PAGE_EXPLANATION_REPORT_H_
