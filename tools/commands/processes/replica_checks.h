// Compares what replicas hold during a training run: --check-replicas.
#ifndef PARTITA_TOOLS_COMMANDS_PROCESSES_REPLICA_CHECKS_H_
#define PARTITA_TOOLS_COMMANDS_PROCESSES_REPLICA_CHECKS_H_

#include <string>
#include <vector>

#include "runtime/api/session.h"
#include "runtime/train/trainer.h"
#include "tools/program/flags.h"

namespace partita {

// Flags that ReplicaChecks reads.
std::vector<std::string> ReplicaFlags();  // check-replicas

// Checks every N steps. A rank whose values differ from the others' ends the run with a VerificationFailure that names
// the rank, the state and the step; so does a check that moved another number of bytes than planned (kInternal). The
// session must outlive them.
TrainingPauses ReplicaChecks(const Flags& flags, const Session& session);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_REPLICA_CHECKS_H_
