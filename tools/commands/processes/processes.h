// A command that may be one of the processes of a job.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/program.h"
#include "graph/schedule/machine_speed.h"
#include "proto/run.pb.h"
#include "runtime/api/job/job.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/train/trainer.h"

namespace partita {

// Whether a launcher has started this process as one of several; then its steps count votes to stop
// (ProgramOptions::count_votes). kInvalidArgument: launchers that contradict each other.
absl::StatusOr<bool> IsOneOfSeveral();

// The job that a launcher has started this process for; null if there is none. From then on the end of another rank
// ends this process within a second, with a line that names the rank and exit code kExitUnavailable; it first completes
// a file that it is writing (finish_writing.h). `read`: digests of what this rank read from --load or --resume, by
// name. `speed`: the machine speed for its schedules. kInvalidArgument: launchers that contradict each other, another
// number of ranks than the program has, ranks with different settings. kUnavailable: ranks that do not join.
absl::StatusOr<std::shared_ptr<Job>> JoinJob(const RunSpec& spec, const Strategy& strategy, const Program& program,
                                             const TrainingData& data, const std::map<std::string, std::string>& read,
                                             const std::optional<MachineSpeed>& speed);

// If a rank of this process stalls (StallWatch), the process ends as it does when another one is lost. `job`: null if
// ranks are threads. From now on the last operations of ranks are recorded if --flight-recorder asks for it.
StallOptions EndWhenStalled(const RunSpec& spec, const Job* job);

// Whether this process speaks for the job: it has rank 0, or there is no job.
bool Speaks(const Session& session);

// Where a process that does not speak writes its results.
std::ostream& Silence();

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_PROCESSES_H_
