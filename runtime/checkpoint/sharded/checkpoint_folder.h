// The checkpoints of a run, in one folder:
//
//   DIR/step-000000000100/   trainer_state.json and the shards: whole, it has its name since it is on the disk
//   DIR/writing-000000000200/  one that is being written, or was when a process ended: nothing
//
// One run at a time: who writes there holds DIR's lock (FolderLock).
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_CHECKPOINT_FOLDER_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/sharded/disk.h"

namespace partita {

std::string StepFolder(const std::string& folder, int64_t step);
std::string WritingFolder(const std::string& folder, int64_t step);

// The steps whose folders have a record, ascending; none where there is no such folder.
absl::StatusOr<std::vector<int64_t>> CheckpointSteps(Disk& disk, const std::string& folder);

// Those that were never whole, and those that were being removed.
absl::Status RemoveHalfWritten(Disk& disk, const std::string& folder);

// Those behind `step`, which somebody found damaged: they are DIR/damaged-000000000300 from then on, and nothing to us.
absl::Status SetAside(Disk& disk, const std::string& folder, int64_t step);

// All but the newest `count`. What is removed is no checkpoint any more before its first shard goes.
absl::Status KeepNewest(Disk& disk, const std::string& folder, int64_t count);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_CHECKPOINT_FOLDER_H_
