#include "runtime/train/sharded/write_checkpoint.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/fail_points/fail_point.h"
#include "runtime/train/sharded/agreement.h"
#include "runtime/train/sharded/shard_writer.h"

namespace partita {
namespace {

// What all processes have written, as the record tells it.
void AddShards(const Graph& graph, const std::vector<std::string>& said, CheckpointRecord& record) {
  for (const State& state : graph.states()) {
    const TensorType& type = graph.type(state.value);
    record.states.push_back({graph.value(state.value).name, type.dtype, type.shape, {}});
  }
  for (const std::string& process : said) {
    WrittenShards written = Unpack(process);
    for (auto& [state, part] : written.parts)
      record.states[static_cast<size_t>(state)].parts.push_back(std::move(part));
    std::ranges::move(written.shards, std::back_inserter(record.shards));
  }
  std::ranges::sort(record.shards, {}, &SavedShard::rank);
}

}  // namespace

CheckpointInFlight::CheckpointInFlight(const Session& session, CheckpointRecord record, const std::string& folder,
                                       Disk& disk)
    : session_(session),
      disk_(disk),
      record_(std::move(record)),
      folder_(folder),
      writing_(WritingFolder(folder, record_.step)) {}

absl::StatusOr<std::unique_ptr<CheckpointInFlight>> CheckpointInFlight::Begin(const Session& session,
                                                                              CheckpointRecord record,
                                                                              const std::string& folder, Disk& disk,
                                                                              int64_t most_copied) {
  std::unique_ptr<CheckpointInFlight> checkpoint(new CheckpointInFlight(session, std::move(record), folder, disk));
  absl::StatusOr<OwnStates> states = OwnStates::Collect(session, StepFolder(folder, checkpoint->record_.step));
  const absl::Status made = states.ok() && checkpoint->commits() ? checkpoint->MakeFolder() : states.status();
  RETURN_IF_ERROR(checkpoint->AgreeOrRemove(made).status());
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointBegun));
  checkpoint->BeginShards(*std::move(states), most_copied);
  return checkpoint;
}

// What is left after an error makes room for the next one; if that cannot be done, the next one says so.
absl::StatusOr<std::vector<std::string>> CheckpointInFlight::AgreeOrRemove(const absl::Status& own,
                                                                           const std::string& said) {
  absl::StatusOr<std::vector<std::string>> all = Agree(session_, own, said);
  if (!all.ok() && commits()) RemoveFolderWithFiles(disk_, writing_).IgnoreError();
  return all;
}

absl::Status CheckpointInFlight::MakeFolder() {
  RETURN_IF_ERROR(disk_.MakeFolder(folder_));
  RETURN_IF_ERROR(RemoveFolderWithFiles(disk_, writing_));  // of a save that failed
  return disk_.MakeFolder(writing_);
}

void CheckpointInFlight::BeginShards(OwnStates states, int64_t most_copied) {
  beside_ = states.bytes() <= most_copied;
  if (beside_) states.Detach();
  shards_ = std::async(beside_ ? std::launch::async : std::launch::deferred,
                       [this, states = std::move(states)]() -> absl::StatusOr<WrittenShards> {
                         absl::StatusOr<WrittenShards> written = WriteShards(states, writing_, disk_);
                         RETURN_IF_ERROR(Pass(FailPoint::kCheckpointShards));
                         return written;
                       });
  if (!beside_) shards_.wait();
}

absl::StatusOr<bool> CheckpointInFlight::Advance() {
  const bool last = !shards_.valid();
  RETURN_IF_ERROR(last ? EndCommit() : EndShards());
  return last;
}

absl::Status CheckpointInFlight::EndShards() {
  const absl::StatusOr<WrittenShards> written = shards_.get();
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   AgreeOrRemove(written.status(), written.ok() ? Pack(*written) : ""));
  if (!commits()) return absl::OkStatus();
  AddShards(session_.program().state_graph(), all, record_);
  commit_ = std::async(beside_ ? std::launch::async : std::launch::deferred, [this] { return Commit(); });
  return absl::OkStatus();
}

absl::Status CheckpointInFlight::EndCommit() {
  const absl::Status committed = commits() ? commit_.get() : absl::OkStatus();
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointCommitted));
  return AgreeOrRemove(committed).status();
}

absl::Status CheckpointInFlight::Commit() {
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointRecord));
  const std::string path = writing_ + "/" + kRecordFile;
  ASSIGN_OR_RETURN(const std::string text, FormatRecord(path, record_));
  RETURN_IF_ERROR(WriteNewFile(disk_, path, {text}));
  RETURN_IF_ERROR(disk_.SyncFolder(writing_));
  RETURN_IF_ERROR(disk_.Rename(writing_, StepFolder(folder_, record_.step)));
  return disk_.SyncFolder(folder_);
}

absl::Status WriteCheckpoint(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk) {
  constexpr int64_t kNothing = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointInFlight> checkpoint,
                   CheckpointInFlight::Begin(session, std::move(record), folder, disk, kNothing));
  for (bool done = false; !done;) {
    ASSIGN_OR_RETURN(done, checkpoint->Advance());
  }
  return absl::OkStatus();
}

}  // namespace partita
