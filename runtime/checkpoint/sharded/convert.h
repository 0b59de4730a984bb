// A checkpoint as one plain safetensors file.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

namespace partita {

// All states and the metadata, to the byte what a run that saves its model at that step writes. Holds one state at a
// time. An older file at `path` stays until the new one is whole. Errors are those of SavedCheckpoint::Read and of
// SaveInTurn.
absl::Status ConvertCheckpoint(const SavedCheckpoint& checkpoint, const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_
