// The repairs of a plan that does not fit, as text and for programs.
#ifndef PARTITA_RUN_PLAN_REPORT_REPAIR_REPORT_H_
#define PARTITA_RUN_PLAN_REPORT_REPAIR_REPORT_H_

#include <string>
#include <vector>

#include "partitioner/repair/repairs.h"

namespace partita {

// `broken`: what the plan takes and needs as it is.
std::string RepairsToText(const Prediction& broken, const std::vector<Repair>& repairs);
std::string RepairsToJson(const Prediction& broken, const std::vector<Repair>& repairs);

// Why a strategy is as it is: which repair was applied, to what, and what it costs and gains. A line each.
std::vector<std::string> ReasonsFor(const Prediction& broken, const Repair& repair);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_REPAIR_REPORT_H_
