// The page of `plan --page`: the timeline of the predicted step, memory over time, groups, and why it takes so long.
#ifndef PARTITA_RUN_PLAN_PAGE_PLAN_PAGE_H_
#define PARTITA_RUN_PLAN_PAGE_PLAN_PAGE_H_

#include <string>

#include "run/plan_page/explanation_report.h"

namespace partita {

// One file, which needs nothing else. Ranks that do the same at the same times are drawn once, at most eight kinds of
// them; the text below covers all.
std::string PlanToHtml(const ExplainedPlan& explained);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PAGE_PLAN_PAGE_H_
