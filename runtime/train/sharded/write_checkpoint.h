// A checkpoint comes to be (docs/design.md 5.33).
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/disk.h"
#include "runtime/checkpoint/sharded/record.h"

namespace partita {

// Collective, no step in flight; all processes see the same folder. Writes the states as the checkpoint of
// `record.step`, whose other fields the caller has filled:
//
//   rank 0          makes DIR/writing-STEP
//   each process    its shards there, synced, and the folder
//   rank 0          when all have: trainer_state.json, synced; renames the folder to DIR/step-STEP, synced
//
// An error is that of all processes, and leaves the checkpoints that there were: kOutOfRange: a value is not finite;
// kResourceExhausted: a disk that is full or fails; kInvalidArgument: a folder that cannot be written; kUnavailable: a
// process is gone.
absl::Status WriteCheckpoint(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_
