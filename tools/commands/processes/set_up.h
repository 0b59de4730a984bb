// What the trainer sets up in its process before a command runs, and a library leaves alone.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_SET_UP_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_SET_UP_H_

#include "absl/status/status.h"
#include "proto/run.pb.h"

namespace partita {

// The log, as --log and --log-format say; for deterministic runs on GPUs NCCL's algorithms
// (tools/program/start/nccl_variables.h). Before the command starts threads.
absl::Status SetUpProcess(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_SET_UP_H_
