#include "runtime/train/sharded/write_checkpoint.h"

#include <algorithm>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/fail_points/fail_point.h"
#include "runtime/train/sharded/agreement.h"
#include "runtime/train/sharded/shard_writer.h"

namespace partita {
namespace {

// What all processes have written, as the record tells it. kUnavailable: a process sent what no process writes.
absl::Status AddShards(const Session& session, const std::vector<std::string>& said, CheckpointRecord& record) {
  const Graph& graph = session.program().state_graph();
  for (const State& state : graph.states()) {
    const TensorType& type = graph.type(state.value);
    record.states.push_back({graph.value(state.value).name, type.dtype, type.shape, {}});
  }
  for (size_t process = 0; process < said.size(); ++process) {
    ASSIGN_OR_RETURN(WrittenShards written,
                     Unpack(said[process], static_cast<int>(process), record.states, session.ranks()));
    for (auto& [state, part] : written.parts)
      record.states[static_cast<size_t>(state)].parts.push_back(std::move(part));
    std::ranges::move(written.shards, std::back_inserter(record.shards));
  }
  std::ranges::sort(record.shards, {}, &SavedShard::rank);
  return absl::OkStatus();
}

// A stage that failed before it began: its error is told where the stage is waited for, to all processes.
template <typename T>
std::future<T> Failed(const absl::Status& status) {
  std::promise<T> failed;
  failed.set_value(status);
  return failed.get_future();
}

}  // namespace

CheckpointInFlight::CheckpointInFlight(const Session& session, CheckpointRecord record, const std::string& folder,
                                       Disk& disk, const FolderLock* lock)
    : session_(session),
      disk_(disk),
      lock_(lock),
      record_(std::move(record)),
      folder_(folder),
      writing_(WritingFolder(folder, record_.step)) {}

absl::StatusOr<std::unique_ptr<CheckpointInFlight>> CheckpointInFlight::Begin(const Session& session,
                                                                              CheckpointRecord record,
                                                                              const std::string& folder, Disk& disk,
                                                                              int64_t most_copied,
                                                                              const FolderLock* lock) {
  std::unique_ptr<CheckpointInFlight> checkpoint(
      new CheckpointInFlight(session, std::move(record), folder, disk, lock));
  absl::StatusOr<OwnStates> states = OrExhausted(
      "a checkpoint", [&] { return OwnStates::Collect(session, StepFolder(folder, checkpoint->record_.step)); });
  const absl::Status made = states.ok() && checkpoint->commits() ? checkpoint->MakeFolder() : states.status();
  RETURN_IF_ERROR(checkpoint->AgreeOrRemove(MessageKind::kCheckpointBegun, made).status());
  const absl::Status begun =
      OrExhausted("a checkpoint", [&] { return checkpoint->BeginShards(*std::move(states), most_copied); });
  if (!begun.ok()) checkpoint->shards_ = Failed<absl::StatusOr<WrittenShards>>(begun);
  return checkpoint;
}

// What is left after an error makes room for the next one; if that cannot be done, the next one says so.
absl::StatusOr<std::vector<std::string>> CheckpointInFlight::AgreeOrRemove(MessageKind kind, const absl::Status& own,
                                                                           const std::string& said) {
  absl::StatusOr<std::vector<std::string>> all = Agree(session_, kind, own, said);
  if (!all.ok() && commits() && CheckLock().ok()) RemoveCheckpoint(disk_, writing_).IgnoreError();
  return all;
}

absl::Status CheckpointInFlight::MakeFolder() {
  RETURN_IF_ERROR(CheckLock());
  RemoveCheckpoint(disk_, writing_).IgnoreError();  // of a save that failed; a stranger's files may stay
  return disk_.MakeFolder(writing_);
}

absl::Status CheckpointInFlight::BeginShards(OwnStates states, int64_t most_copied) {
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointBegun));
  beside_ = states.bytes() <= most_copied;
  if (beside_) states.Detach();
  shards_ = std::async(beside_ ? std::launch::async : std::launch::deferred,
                       [this, states = std::move(states)]() -> absl::StatusOr<WrittenShards> {
                         absl::StatusOr<WrittenShards> written = WriteShards(states, writing_, disk_);
                         RETURN_IF_ERROR(Pass(FailPoint::kCheckpointShards));
                         return written;
                       });
  if (!beside_) shards_.wait();
  return absl::OkStatus();
}

absl::StatusOr<bool> CheckpointInFlight::Advance() {
  const bool last = !shards_.valid();
  RETURN_IF_ERROR(last ? EndCommit() : EndShards());
  return last;
}

absl::Status CheckpointInFlight::EndShards() {
  const absl::StatusOr<WrittenShards> written =
      OrExhausted("a checkpoint", [&]() -> absl::StatusOr<WrittenShards> { return shards_.get(); });
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   AgreeOrRemove(MessageKind::kCheckpointShards, written.status(), written.ok() ? Pack(*written) : ""));
  if (!commits()) return absl::OkStatus();
  const absl::Status begun = OrExhausted("a checkpoint", [&] { return BeginCommit(all); });
  if (!begun.ok()) commit_ = Failed<absl::Status>(begun);
  return absl::OkStatus();
}

absl::Status CheckpointInFlight::BeginCommit(const std::vector<std::string>& said) {
  RETURN_IF_ERROR(AddShards(session_, said, record_));
  commit_ = std::async(beside_ ? std::launch::async : std::launch::deferred, [this] { return Commit(); });
  return absl::OkStatus();
}

absl::Status CheckpointInFlight::EndCommit() {
  absl::Status committed = commits() ? OrExhausted("a checkpoint", [&] { return commit_.get(); }) : absl::OkStatus();
  if (committed.ok()) committed = Pass(FailPoint::kCheckpointCommitted);
  return AgreeOrRemove(MessageKind::kCheckpointRecord, committed).status();
}

// The folder is checked again right before it gets the checkpoint's name: writing may take long.
absl::Status CheckpointInFlight::Commit() {
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointRecord));
  RETURN_IF_ERROR(CheckLock());
  const std::string path = writing_ + "/" + kRecordFile;
  ASSIGN_OR_RETURN(const std::string text, FormatRecord(path, record_));
  RETURN_IF_ERROR(ParseRecord(path, text).status());  // parts that other processes sent tile their states
  RETURN_IF_ERROR(WriteNewFile(disk_, path, {text}));
  RETURN_IF_ERROR(disk_.SyncFolder(writing_));
  RETURN_IF_ERROR(CheckLock());
  RETURN_IF_ERROR(disk_.Rename(writing_, StepFolder(folder_, record_.step)));
  return disk_.SyncFolder(folder_);
}

absl::Status WriteCheckpoint(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk,
                             const FolderLock* lock) {
  constexpr int64_t kNothing = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointInFlight> checkpoint,
                   CheckpointInFlight::Begin(session, std::move(record), folder, disk, kNothing, lock));
  for (bool done = false; !done;) {
    ASSIGN_OR_RETURN(done, checkpoint->Advance());
  }
  return absl::OkStatus();
}

}  // namespace partita
