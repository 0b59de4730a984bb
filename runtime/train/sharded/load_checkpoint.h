// Loads the states of a checkpoint into a session, for any strategy and number of ranks that wrote it.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_LOAD_CHECKPOINT_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_LOAD_CHECKPOINT_H_

#include "absl/status/status.h"
#include "graph/ir/program.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

namespace partita {

// kInvalidArgument: the first state that one of them has and the other has not, or has with another type or shape.
absl::Status CheckStates(const SavedCheckpoint& checkpoint, const Program& program);

// Collective, after CheckStates. Each process reads what its ranks hold, piece by piece, from the parts that have any
// of it. kInvalidArgument: a damaged shard; the states are then of no use.
absl::Status LoadCheckpoint(const SavedCheckpoint& checkpoint, Session& session);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_LOAD_CHECKPOINT_H_
