// `trainer post-mortem`: what a job died of, by what its ranks recorded.
#include "runtime/flight_recorder/post_mortem.h"

#include <spdlog/spdlog.h>

#include "run/flight/flight_folder.h"
#include "run/plan/run_options.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> RunPostMortem(const ContextOf<RunSpec>& context) {
  ASSIGN_OR_RETURN(const FlightRun run, LoadFlightRun(context.spec.model().graph()));
  for (const std::string& unread : run.unread) spdlog::warn("{}", unread);
  context.out << FindCause(run.records).sentence << "\n";
  return kExitFinished;
}

}  // namespace

Command PostMortemCommand() {
  return {"post-mortem", "show which ranks waited for which when a job failed (see --flight-recorder)", "FOLDER",
          Runs<RunSpec>(RunPostMortem)};
}

}  // namespace partita
