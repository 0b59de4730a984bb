// Joins the job of processes that a launcher has started this process for.
#ifndef PARTITA_RUN_JOB_JOIN_JOB_H_
#define PARTITA_RUN_JOB_JOIN_JOB_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/program.h"
#include "graph/schedule/machine_speed.h"
#include "proto/run.pb.h"
#include "run/job/flight_keeper.h"
#include "runtime/api/job/job.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/comm/peer_channel.h"
#include "runtime/train/trainer.h"

namespace partita {

// Called when another rank is lost or one of this process stalls, by a thread that holds no lock of the job, after the
// flight records were written. `who`: "rank 2: " in one of several processes, else "". The session can do nothing more:
// abort it or end the process.
using FailureHandler = std::function<void(const std::string& who, const absl::Status& status)>;

// How a process takes part in a job.
struct Joining {
  FailureHandler failed;
  // Of the program that embeds this one, to or to find the other ranks; null: the job of a launcher, if one started
  // this process.
  std::shared_ptr<const PeerChannel> channel = nullptr;
  std::shared_ptr<FlightKeeper> flight = std::make_shared<FlightKeeper>();  // of the session that joins

  // Whether ranks are processes, as PlanUse has it.
  std::optional<bool> processes() const { return channel ? std::optional(channel->ranks > 1) : std::nullopt; }
};

// Whether a launcher has started this process as one of several; then its steps count votes to stop
// (ProgramOptions::count_votes). kInvalidArgument: launchers that contradict each other.
absl::StatusOr<bool> IsOneOfSeveral(const RunSpec& spec);

// The job of the channel, or that a launcher has started this process for; null if there is none. From then on `failed`
// is called within a second after another rank of a launcher's job has ended. `read`: digests of what this rank read
// from --load or --resume, by name. `speed`: the machine speed for its schedules. kInvalidArgument: launchers that
// contradict each other, another number of ranks than the program has, ranks with different settings. kUnavailable:
// ranks that do not join.
absl::StatusOr<std::shared_ptr<Job>> JoinJob(const RunSpec& spec, const Strategy& strategy, const Program& program,
                                             const TrainingData& data, const std::map<std::string, std::string>& read,
                                             const std::optional<MachineSpeed>& speed, const Joining& joining);

// If a rank of this process stalls (StallWatch), `joining.failed` is called. `job`: null if ranks are threads. From now
// on the last operations of ranks are recorded if --flight-recorder asks for it.
StallOptions WatchForStalls(const RunSpec& spec, const Job* job, const Joining& joining);

}  // namespace partita

#endif  // PARTITA_RUN_JOB_JOIN_JOB_H_
