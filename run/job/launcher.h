// This process's place in a job, from the environment that a launcher made: `trainer launch`, torchrun, mpirun, srun or
// Kubernetes (PET_*). In this order; what several of them say must agree.
#ifndef PARTITA_RUN_JOB_LAUNCHER_H_
#define PARTITA_RUN_JOB_LAUNCHER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace partita {

struct JobPlace {
  std::string launcher;  // for display
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;                 // among those of this machine
  std::string address = "127.0.0.1";  // numeric, of rank 0
  int port = 29500;
  std::string interface_address = "127.0.0.1";  // numeric, of the interface of this machine that reaches rank 0
  std::string token;                            // may be empty on the loopback interface only
};

// The value of a variable; nullopt if it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// That of this process.
std::optional<std::string> SystemEnvironment(const std::string& name);

// Waits before rank 0's name is looked up again, which the others may know only once rank 0's machine is there; false:
// it has waited long enough.
using NamePause = std::function<bool(const std::string& host)>;

// Nothing if no launcher is there. A kInvalidArgument that names the variables: a value that is no number, a rank that
// is not below the number of ranks, one of RANK and WORLD_SIZE alone, two launchers that do not agree, an address other
// than loopback without a token, a name that is not known. kUnavailable: nor is it after pauses.
absl::StatusOr<std::optional<JobPlace>> FindPlace(
    const Environment& environment, const NamePause& pause = [](const std::string&) { return false; });

// The rank among the processes of this machine, by the first launcher that says it; LOCAL_RANK alone counts as well.
// Nothing where no launcher says it, or where its value is no rank, which FindPlace rejects.
std::optional<int> LocalRank(const Environment& environment);

// Names of the variables that `trainer launch` sets besides torchrun's.
inline constexpr char kTokenVariable[] = "PARTITA_JOB_TOKEN";
inline constexpr char kLauncherVariable[] = "PARTITA_LAUNCHER";

// How often all ranks were started before, as torchrun says it and `trainer launch` too.
inline constexpr char kStartVariable[] = "TORCHELASTIC_RESTART_COUNT";

}  // namespace partita

#endif  // PARTITA_RUN_JOB_LAUNCHER_H_
