// A run that repeats a report (--config=report.json) on a graph that has changed since.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_REPEATED_REPORT_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_REPEATED_REPORT_H_

#include "absl/status/status.h"
#include "proto/run.pb.h"
#include "runtime/api/session.h"

namespace partita {

// On rank 0 of the session, logs a warning if the graph is another one than the report's, both with the report's flags.
// Does nothing where --config is no report.
absl::Status WarnOfAnotherGraph(const RunSpec& spec, const Session& session);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_REPEATED_REPORT_H_
