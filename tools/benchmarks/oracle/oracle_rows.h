// The output of `benchmark oracle`.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_ROWS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_ROWS_H_

#include <string>
#include <vector>

#include "tools/benchmarks/oracle/plan_orders.h"
#include "tools/benchmarks/oracle/step_errors.h"
#include "tools/commands/oracle/history.h"

namespace partita {

// Prints each row as soon as it is known, and finally how many hold. Refused rows are not shown, and then the summary
// does not claim that all hold.
std::string ToText(const std::vector<StepErrorRow>& rows);
std::string ToText(const PlanOrder& order);
std::string Summary(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders);

std::string ToJson(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders);

// What a history keeps of the rows (docs/reference/outputs.md 4): a run for each row and each plan, with the predicted
// and measured times of its launches, by kind. Refused rows are skipped.
std::vector<GradedRun> RunsOf(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders);

// Whether nothing fails: reported errors are within their limits, memory and bytes are as predicted, and the orders of
// plans hold (PlanOrder::holds).
bool Holds(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_ORACLE_ROWS_H_
