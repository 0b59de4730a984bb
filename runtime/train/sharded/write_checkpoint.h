// A checkpoint comes to be (docs/design.md 5.33):
//
//   rank 0          makes DIR/writing-STEP
//   each process    its shards there, synced, and the folder
//   rank 0          when all have: trainer_state.json, synced; renames the folder to DIR/step-STEP, synced
//
// All processes see the same DIR, which exists and is never made. Rank 0 passes the lock that it holds on DIR (null: no
// other run writes there): a DIR that was renamed, removed or replaced meanwhile is not written to. Every error, also
// one that a process met between two of these stages, is an error of all processes, and leaves the earlier checkpoints:
// kOutOfRange: a value is not finite; kResourceExhausted: no memory or thread for a copy, or a disk that is full or
// fails; kInvalidArgument: a folder that cannot be written; kUnavailable: a process is gone.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/api/job/message.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/disk.h"
#include "runtime/checkpoint/sharded/folder_lock.h"
#include "runtime/checkpoint/sharded/record.h"
#include "runtime/train/sharded/shard_writer.h"

namespace partita {

// What a process of a training run copies at most, to write it beside the steps: more than a model's states on one rank
// of many, and less than what a machine has left that trains a model which it can barely hold.
inline constexpr int64_t kMostCopied = int64_t{1} << 30;
// Its steps between two looks at what is being written; each look is a step that begins when the one before has ended.
inline constexpr int64_t kStepsBeside = 8;

// One that is written by threads of its own, of a copy, while steps run; between these it goes from stage to stage.
class CheckpointInFlight {
 public:
  // Collective, no step in flight. The states as the checkpoint of `record.step`, whose other fields the caller has
  // filled. A process whose ranks own more than `most_copied` bytes makes no copy and writes its shards before this
  // returns. `session`, `disk` and `lock` must outlive it.
  static absl::StatusOr<std::unique_ptr<CheckpointInFlight>> Begin(const Session& session, CheckpointRecord record,
                                                                   const std::string& folder, Disk& disk,
                                                                   int64_t most_copied,
                                                                   const FolderLock* lock = nullptr);
  CheckpointInFlight(const CheckpointInFlight&) = delete;
  CheckpointInFlight& operator=(const CheckpointInFlight&) = delete;
  // Waits for what is being written; the checkpoint may then not be there.
  ~CheckpointInFlight() = default;

  // Collective, no step in flight. Waits for the stage that runs to end, and begins the next one. True: it was the
  // last, and the checkpoint is there. After that, or an error, not to be called again.
  absl::StatusOr<bool> Advance();

 private:
  CheckpointInFlight(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk,
                     const FolderLock* lock);
  bool commits() const { return session_.local_ranks().front() == 0; }
  absl::Status CheckLock() const { return lock_ == nullptr ? absl::OkStatus() : lock_->Check(); }
  absl::Status MakeFolder();
  absl::StatusOr<std::vector<std::string>> AgreeOrRemove(MessageKind kind, const absl::Status& own,
                                                         const std::string& said = "");
  absl::Status BeginShards(OwnStates states, int64_t most_copied);
  absl::Status EndShards();
  absl::Status BeginCommit(const std::vector<std::string>& said);
  absl::Status EndCommit();
  absl::Status Commit();

  const Session& session_;
  Disk& disk_;
  const FolderLock* const lock_;
  CheckpointRecord record_;
  const std::string folder_, writing_;
  bool beside_ = false;                                // of a copy, by threads
  std::future<absl::StatusOr<WrittenShards>> shards_;  // valid in the first stage
  std::future<absl::Status> commit_;                   // of rank 0, in the second
};

// All at once. Collective, no step in flight; nothing is copied.
absl::Status WriteCheckpoint(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk,
                             const FolderLock* lock = nullptr);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_WRITE_CHECKPOINT_H_
