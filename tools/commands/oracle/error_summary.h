// Summarizes the errors of predictions over many runs.
#ifndef PARTITA_TOOLS_COMMANDS_ORACLE_ERROR_SUMMARY_H_
#define PARTITA_TOOLS_COMMANDS_ORACLE_ERROR_SUMMARY_H_

#include <string>
#include <vector>

#include "tools/commands/oracle/history.h"

namespace partita {

// Of one kind of term; errors are shares of what was measured.
struct ErrorSummary {
  std::string kind;
  int64_t runs = 0;  // that have it
  double mean = 0, median = 0, worst = 0;
  std::string worst_run;  // model, strategy and time
};

// By kind, in the order in which the runs first have them.
std::vector<ErrorSummary> SummariseErrors(const std::vector<GradedRun>& runs);

std::string ToText(const std::vector<ErrorSummary>& errors);
std::string ToJson(const std::vector<ErrorSummary>& errors);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_ORACLE_ERROR_SUMMARY_H_
