// When a run of training compares what replicas hold: --check-replicas.
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

// Every so many steps. A rank that holds other bits than the others ends the run with a VerificationFailure, which
// names the rank, the state and the step; so does a check that has moved other bytes than it was to (kInternal). The
// session must outlive them.
TrainingPauses ReplicaChecks(const Flags& flags, const Session& session);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PROCESSES_REPLICA_CHECKS_H_
