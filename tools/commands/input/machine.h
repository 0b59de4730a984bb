// The machines that choices are made for and times are told of, from a command's flags.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_MACHINE_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_MACHINE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/schedule/machine_speed.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/data_model_strategy.h"
#include "tools/program/flags.h"

namespace partita {

struct Machine {
  Cluster cluster;
};

// Of --cluster, a file or the name of a shipped one; none where it is not set. Errors name the file, or are a FlagError
// with the name that was meant.
absl::StatusOr<std::optional<Machine>> ReadMachine(const Flags& flags);

// By what a program of so many ranks and its schedules are made; none: by what is known of the device itself.
// kInvalidArgument: there are more ranks than devices.
absl::StatusOr<std::optional<MachineSpeed>> SpeedFor(const std::optional<Machine>& machine, int ranks);

// Of the links of so many worker groups of `model` ranks, which follow each other. The cluster has the devices.
SplitSpeed SpeedOfSplits(const Cluster& cluster, int data, int model);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_MACHINE_H_
