// The checkpoints of a run, in one folder:
//
//   DIR/step-000000000100/   trainer_state.json and the shards: whole, it has its name since it is on the disk
//   DIR/writing-000000000200/  one that is being written, or was when a process ended: nothing
//
// One run at a time writes there and holds DIR's lock (FolderLock). Other users may put what they like into DIR: only
// files with the names of a checkpoint's files are removed, and only from folders, never through links (disk.h).
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

// The steps whose folders have a record, or cannot be listed, ascending; none where there is no such folder. Files and
// links with the name of a checkpoint are none.
absl::StatusOr<std::vector<int64_t>> CheckpointSteps(Disk& disk, const std::string& folder);

// A folder of a checkpoint with the checkpoint's files; OK if there is none. An error names what stays: the folder, if
// it holds anything else.
absl::Status RemoveCheckpoint(Disk& disk, const std::string& folder);

// Checkpoints that were never whole, and those whose removal was interrupted. An error names all that could not be
// removed; a caller that can go on without the space should warn and do so.
absl::Status RemoveHalfWritten(Disk& disk, const std::string& folder);

// The checkpoints after `step`, which the caller found damaged: they become DIR/damaged-000000000300, or where that
// name is taken DIR/damaged-000000000300.2, and are never read again.
absl::Status SetAside(Disk& disk, const std::string& folder, int64_t step);

// Removes all but the newest `count`. A checkpoint's record goes before its first shard. Errors as of
// RemoveHalfWritten.
absl::Status KeepNewest(Disk& disk, const std::string& folder, int64_t count);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_CHECKPOINT_FOLDER_H_
