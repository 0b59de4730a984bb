// The machines to optimize for and to predict times of, from a command's flags.
#ifndef PARTITA_RUN_PLAN_MACHINE_H_
#define PARTITA_RUN_PLAN_MACHINE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/schedule/machine_speed.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/profile/profile.h"
#include "proto/run.pb.h"
#include "runtime/api/backend/backend.h"

namespace partita {

struct Machine {
  Cluster cluster;
  std::optional<Profile> profile;  // of its devices
  bool processes = false;          // ranks are processes of a job there; else threads of one
};

// What this program and this machine are, as a profile that is measured here has it.
ProfileKey KeyOfThisMachine();

// Of --cluster, a file or the name of a shipped one, and of --profile; none where neither is set. A profile alone is of
// the machine that it was measured on, with the links between ranks that are threads or `processes`, and must be of
// this one (kInvalidArgument); beside a cluster it says how long kernels take on the devices there. Errors name the
// file, or are a FlagError with the name that was meant.
absl::StatusOr<std::optional<Machine>> ReadMachine(const MachineSpec& spec, bool processes);

// How the ranks of a plan for that machine are spread.
Spread SpreadOf(const Machine& machine);

// The measured kernel times of a run with this number of ranks: those next to the ranks that share cores with the first
// one.
KernelTimes KernelTimesOf(const Machine& machine, int ranks);

// The machine speed for making a program of this number of ranks and its schedules; without a machine, that of the
// device that --device and --gpu name (partitioner/clusters/cluster_by_default.h). kInvalidArgument: there are more
// ranks than devices.
absl::StatusOr<MachineSpeed> SpeedFor(const RunSpec& spec, const std::optional<Machine>& machine, int ranks);

// The links of this number of consecutive worker groups of `model` ranks. The cluster must have the devices.
SplitSpeed SpeedOfSplits(const Cluster& cluster, int data, int model);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_MACHINE_H_
