// A checkpoint as one plain safetensors file.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"

namespace partita {

// All states and the metadata, to the byte what a run that saves its model at that step writes. Holds one state at a
// time. An older file at `path` stays until the new one is whole. Errors are those of SavedCheckpoint::Read and of
// SaveInTurn.
absl::Status ConvertCheckpoint(const SavedCheckpoint& checkpoint, const std::string& path);

// The elements of one of its states, row-major. Errors are those of SavedCheckpoint::Read, and kResourceExhausted:
// there is no memory for it.
absl::StatusOr<std::string> ReadWhole(const SavedCheckpoint& checkpoint, const SavedState& state);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_CONVERT_H_
