// The results of tools/faults/chaos.py: trainings by real processes that are killed, stopped and started again and
// again.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_KILLED_JOBS_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_KILLED_JOBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/chaos/tally.h"

namespace partita {

struct KilledJobsOptions {
  std::string script, trainer, graph;
  int64_t kills = 200;
  int64_t seed = 1;
};

struct KilledJobs {
  struct Fault {
    std::string fault, where;
    Tally tally;
  };
  std::vector<Fault> faults;
  Tally trials, checkpoints;          // trainings, and checkpoints compared bit by bit
  std::vector<std::string> breaches;  // nothing behind the first one is tried
};

// Says on standard error how far it is. kInternal: the script did not say what it found.
absl::StatusOr<KilledJobs> KillJobs(const KilledJobsOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_KILLED_JOBS_H_
