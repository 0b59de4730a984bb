// How a command ends that may be one of the processes of a job, and which of them prints.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "runtime/api/session.h"

namespace partita {

// The FailureHandler of the trainer (run/job/join_job.h): ends this process within a second, with a line that names the
// rank, and the exit code of `status`; first it completes a file that it is writing (finish_writing.h).
void EndProcess(const std::string& who, const absl::Status& status);

// Whether this process speaks for the job: it has rank 0, or there is no job.
bool Speaks(const Session& session);

// Where a process that does not speak writes its results.
std::ostream& Silence();

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_
