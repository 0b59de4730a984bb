// Compares what replicas hold during a training run: --check-replicas.
#ifndef PARTITA_RUN_TRAIN_REPLICA_CHECKS_H_
#define PARTITA_RUN_TRAIN_REPLICA_CHECKS_H_

#include <string>
#include <vector>

#include "proto/run.pb.h"
#include "runtime/api/session.h"
#include "runtime/train/trainer.h"

namespace partita {

// Checks every N steps. A rank whose values differ from the others' ends the run with a VerificationFailure that names
// the rank, the state and the step; so does a check that moved another number of bytes than planned (kInternal). The
// session must outlive them.
TrainingPauses ReplicaChecks(const RunSpec& spec, const Session& session);

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_REPLICA_CHECKS_H_
