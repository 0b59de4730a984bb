// `trainer oracle`: how far predictions were from what runs took.
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/commands/oracle/error_summary.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> RunOracle(const ContextOf<RunSpec>& context) {
  const std::string path = HistoryPath(context.spec.output().history());
  if (path.empty()) return FlagError("oracle needs --history=FILE: neither HOME nor XDG_CACHE_HOME is set");
  ASSIGN_OR_RETURN(const std::vector<GradedRun> runs, LoadHistory(path));
  const std::vector<ErrorSummary> errors = SummariseErrors(runs);
  context.out << (context.spec.output().format() == "json" ? ToJson(errors) : ToText(errors));
  return kExitFinished;
}

}  // namespace

Command OracleCommand() {
  Command command{"oracle", "compare predicted with measured times of past runs", "", Runs<RunSpec>(RunOracle)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
