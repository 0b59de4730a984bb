#include "run/train/checkpointer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "run/host/log.h"
#include "run/spec/spec_error.h"
#include "run/train/writable_folder.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/train/sharded/agreement.h"

namespace partita {
namespace {

constexpr int kMostFailures = 3;
constexpr int64_t kMostSteps = int64_t{1} << 53;

double SecondsOf(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

// Where the disk is to blame, and may be better next time.
bool MayBeTriedAgain(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsInvalidArgument(status);
}

// What rank 0 says, on all processes: a number from 0.
absl::StatusOr<int64_t> OfRankZero(const Session& session, MessageKind kind, int64_t own) {
  PackedValues packed;
  packed.Add(own);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session.AllGather({kind, packed.bytes()}));
  PackedReader reader(kind, 0, all.front());
  const int64_t number = reader.NextBelow(kMostSteps);
  RETURN_IF_ERROR(reader.Finish());
  return number;
}

}  // namespace

absl::StatusOr<CheckpointInterval> ParseInterval(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || number < 1 || number > kMostSteps || (!unit.empty() && seconds == 0)) {
    return FlagError("flag --checkpoint-every: found '{}', allowed are steps, as 1000, or time, as 90s, 15m or 2h",
                     text);
  }
  if (unit.empty()) return CheckpointInterval{.steps = number};
  return CheckpointInterval{.seconds = static_cast<double>(number) * seconds};
}

absl::Status CheckCheckpointFlags(const RunSpec& spec) {
  const CheckpointSpec& checkpoints = spec.checkpoints();
  if (checkpoints.has_checkpoint()) RETURN_IF_ERROR(CheckWritableFolder("checkpoint", checkpoints.checkpoint()));
  if (!checkpoints.has_checkpoint_every()) return absl::OkStatus();
  return ParseInterval(checkpoints.checkpoint_every()).status();
}

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Open(const RunSpec& spec, const Session& session,
                                                                 const ModelSaver& saver, Run run) {
  std::unique_ptr<Checkpointer> checkpointer(new Checkpointer(spec, session, saver, std::move(run)));
  checkpointer->asked_at_ = checkpointer->run_.first_step;
  if (spec.checkpoints().has_checkpoint_every()) {
    ASSIGN_OR_RETURN(checkpointer->interval_, ParseInterval(spec.checkpoints().checkpoint_every()));
  }
  if (!spec.checkpoints().has_checkpoint()) return checkpointer;
  checkpointer->folder_ = ResolveLink(spec.checkpoints().checkpoint());
  const absl::Status taken = checkpointer->speaks() ? checkpointer->TakeFolder() : absl::OkStatus();
  const int64_t there = checkpointer->written_ ? 1 : 0;
  RETURN_IF_ERROR(Agree(session, MessageKind::kCheckpointFolder, taken).status());
  ASSIGN_OR_RETURN(const int64_t begins_written, OfRankZero(session, MessageKind::kCheckpointFolder, there));
  if (begins_written != 0) checkpointer->written_ = checkpointer->run_.first_step;
  return checkpointer;
}

absl::Status Checkpointer::TakeFolder() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return InvalidArgument("{}: cannot make the folder: {}", folder_, error.message());
  // The folder's own name must last as well; where it is not ours to sync, it was there before.
  disk_.SyncFolder(std::filesystem::path(folder_).parent_path()).IgnoreError();
  ASSIGN_OR_RETURN(lock_, FolderLock::Take(folder_));
  if (spec_.checkpoints().resume() == "auto") RETURN_IF_ERROR(SetAside(disk_, folder_, run_.first_step));
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(disk_, folder_));
  const bool resumed = spec_.checkpoints().has_resume();
  if (!steps.empty() && (steps.back() > run_.first_step || !resumed)) {
    return InvalidArgument(
        "{}: has checkpoints up to step {}, and this run begins at step {}: --resume=auto goes on with the newest; to "
        "begin elsewhere give another --checkpoint, or move them away",
        folder_, steps.back(), run_.first_step);
  }
  if (!steps.empty() && steps.back() == run_.first_step) written_ = run_.first_step;
  if (const absl::Status cleaned = RemoveHalfWritten(disk_, folder_); !cleaned.ok()) {
    Warn("what an earlier run left is not removed: {}", std::string(cleaned.message()));
  }
  return absl::OkStatus();
}

TrainingPauses Checkpointer::Pauses() {
  TrainingPauses pauses;
  if (!spec_.checkpoints().has_checkpoint()) return pauses;
  pauses.next = [this](int64_t step) { return StepsToNext(step); };
  pauses.on_steps = [this](int64_t step, const LossSums& epoch) { return Pause(step, epoch); };
  return pauses;
}

absl::Status Checkpointer::Pause(int64_t step, const LossSums& epoch) {
  ASSIGN_OR_RETURN(const bool due, IsDue(step));
  if (in_flight_ != nullptr) RETURN_IF_ERROR(Advance());
  while (due && in_flight_ != nullptr) RETURN_IF_ERROR(Advance());
  return due ? Begin(step, epoch) : absl::OkStatus();
}

absl::StatusOr<int64_t> Checkpointer::StepsToNext(int64_t step) {
  ASSIGN_OR_RETURN(const int64_t due, StepsToDue(step));
  return in_flight_ != nullptr && due > kStepsBeside ? kStepsBeside : due;
}

// Of time, rank 0 says by its clock in how many steps it will have passed, as fast as the last ones were; then it is
// asked again.
absl::StatusOr<int64_t> Checkpointer::StepsToDue(int64_t step) {
  if (interval_.steps > 0) return interval_.steps - step % interval_.steps;
  if (interval_.seconds == 0) return 0;
  const Clock::time_point now = Clock::now();
  const double left = interval_.seconds - SecondsOf(now - last_);
  const double step_seconds = SecondsOf(now - asked_) / static_cast<double>(std::max<int64_t>(1, step - asked_at_));
  const bool known = step > asked_at_ && step_seconds > 0;
  asked_ = now;
  asked_at_ = step;
  const double steps = known ? std::clamp(left / step_seconds, 1.0, 1e9) : 1.0;
  return OfRankZero(session_, MessageKind::kCheckpointTime, static_cast<int64_t>(steps));
}

absl::StatusOr<bool> Checkpointer::IsDue(int64_t step) {
  if (interval_.steps > 0) return step % interval_.steps == 0;
  const bool due = SecondsOf(Clock::now() - last_) >= interval_.seconds;
  ASSIGN_OR_RETURN(const int64_t of_rank_zero, OfRankZero(session_, MessageKind::kCheckpointTime, due ? 1 : 0));
  return of_rank_zero != 0;
}

absl::Status Checkpointer::Finish(int64_t step, const LossSums& epoch) {
  if (!spec_.checkpoints().has_checkpoint()) return absl::OkStatus();
  RETURN_IF_ERROR(FinishWritten());
  if (written_ == step) return absl::OkStatus();
  RETURN_IF_ERROR(WriteCheckpoint(session_, RecordOf(step, epoch), folder_, disk_, lock()));
  Keep(step);
  return absl::OkStatus();
}

absl::Status Checkpointer::FinishWritten() {
  while (in_flight_ != nullptr) RETURN_IF_ERROR(Advance());
  return absl::OkStatus();
}

CheckpointRecord Checkpointer::RecordOf(int64_t step, const LossSums& epoch) const {
  CheckpointRecord record;
  record.step = step;
  record.epoch = epoch;
  record.metadata = ToMetadata(saver_.Record(step));
  record.metadata["partita.model"] = saver_.model().name;
  record.strategy = run_.strategy;
  record.graph = run_.graph;
  return record;
}

absl::Status Checkpointer::Begin(int64_t step, const LossSums& epoch) {
  last_ = Clock::now();
  absl::StatusOr<std::unique_ptr<CheckpointInFlight>> begun =
      CheckpointInFlight::Begin(session_, RecordOf(step, epoch), folder_, disk_, kMostCopied, lock());
  if (!begun.ok()) return Tolerate(begun.status(), step);
  in_flight_ = *std::move(begun);
  in_flight_step_ = step;
  return absl::OkStatus();
}

absl::Status Checkpointer::Advance() {
  const absl::StatusOr<bool> there = in_flight_->Advance();
  if (there.ok() && !*there) return absl::OkStatus();
  in_flight_.reset();
  if (!there.ok()) return Tolerate(there.status(), in_flight_step_);
  failures_ = 0;
  Keep(in_flight_step_);
  return absl::OkStatus();
}

absl::Status Checkpointer::Tolerate(const absl::Status& failed, int64_t step) {
  if (!MayBeTriedAgain(failed) || ++failures_ == kMostFailures) return failed;
  if (speaks()) {
    Warn("the checkpoint of step {} was not written ({} of {} in a row that end the run): {}", step, failures_,
         kMostFailures, std::string(failed.message()));
  }
  return absl::OkStatus();
}

void Checkpointer::Keep(int64_t step) {
  written_ = step;
  if (!speaks()) return;
  absl::Status kept = lock_->Check();
  if (kept.ok()) kept = KeepNewest(disk_, folder_, spec_.checkpoints().keep());
  if (!kept.ok()) Warn("older checkpoints are not removed: {}", std::string(kept.message()));
}

}  // namespace partita
