// Writes the checkpoints of a training run: --checkpoint, --checkpoint-every, --keep.
#ifndef PARTITA_RUN_TRAIN_CHECKPOINTER_H_
#define PARTITA_RUN_TRAIN_CHECKPOINTER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "run/train/model_saver.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/disk.h"
#include "runtime/checkpoint/sharded/folder_lock.h"
#include "runtime/checkpoint/sharded/record.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "runtime/train/trainer.h"

namespace partita {

// A number of steps or a time; neither: only at the end.
struct CheckpointInterval {
  int64_t steps = 0;
  double seconds = 0;
};
// "100", "90s", "15m", "2h". FlagError: something else.
absl::StatusOr<CheckpointInterval> ParseInterval(const std::string& text);

// FlagError: --checkpoint cannot be written to, or --checkpoint-every is no interval.
absl::Status CheckCheckpointFlags(const RunSpec& spec);

// All arguments must outlive it.
class Checkpointer {
 public:
  struct Run {
    std::string strategy;            // as text
    std::vector<std::string> graph;  // a line for each node
    int64_t first_step = 0;          // where it begins
  };
  // Collective. Takes the folder for this run, and removes what was never whole there; what cannot be removed is
  // warned of. kInvalidArgument: another run writes there; the folder has checkpoints of later steps, which this run
  // would make again.
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Open(const RunSpec& spec, const Session& session,
                                                            const ModelSaver& saver, Run run);

  // While training; a checkpoint is written concurrently with the steps and completes some steps later. If one cannot
  // be written, a warning is logged and the run continues with the existing ones; three failures in a row end it.
  TrainingPauses Pauses();

  // At the end, if that step has none yet.
  absl::Status Finish(int64_t step, const LossSums& epoch);

  // Instead, where the states are not to be saved: the checkpoint that is being written, if there is one, is of before.
  absl::Status FinishWritten();

 private:
  using Clock = std::chrono::steady_clock;

  Checkpointer(const RunSpec& spec, const Session& session, const ModelSaver& saver, Run run)
      : spec_(spec), session_(session), saver_(saver), run_(std::move(run)) {}
  bool speaks() const { return session_.local_ranks().front() == 0; }
  const FolderLock* lock() const { return lock_ ? &*lock_ : nullptr; }
  absl::Status TakeFolder();
  absl::StatusOr<int64_t> StepsToNext(int64_t step);
  absl::StatusOr<int64_t> StepsToDue(int64_t step);
  absl::StatusOr<bool> IsDue(int64_t step);
  CheckpointRecord RecordOf(int64_t step, const LossSums& epoch) const;
  absl::Status Pause(int64_t step, const LossSums& epoch);
  absl::Status Begin(int64_t step, const LossSums& epoch);
  absl::Status Advance();
  absl::Status Tolerate(const absl::Status& failed, int64_t step);
  void Keep(int64_t step);

  const RunSpec& spec_;
  const Session& session_;
  const ModelSaver& saver_;
  const Run run_;
  Disk& disk_ = SystemDisk();
  CheckpointInterval interval_;
  std::string folder_;              // --checkpoint, its link resolved
  std::optional<FolderLock> lock_;  // of rank 0
  std::optional<int64_t> written_;  // the newest step of this run's that has a checkpoint
  std::unique_ptr<CheckpointInFlight> in_flight_;
  int64_t in_flight_step_ = 0;
  int failures_ = 0;                        // in a row
  Clock::time_point last_ = Clock::now();   // when the last checkpoint was begun, or should have been
  Clock::time_point asked_ = Clock::now();  // when StepsToNext was asked last,
  int64_t asked_at_ = 0;                    // and at which step
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_CHECKPOINTER_H_
