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

absl::Status MakeWritingFolder(const std::string& folder, const std::string& writing, Disk& disk) {
  RETURN_IF_ERROR(disk.MakeFolder(folder));
  RETURN_IF_ERROR(RemoveFolderWithFiles(disk, writing));  // of a save that failed
  return disk.MakeFolder(writing);
}

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

absl::Status Commit(const CheckpointRecord& record, const std::string& folder, const std::string& writing, Disk& disk) {
  const std::string path = writing + "/" + kRecordFile;
  ASSIGN_OR_RETURN(const std::string text, FormatRecord(path, record));
  RETURN_IF_ERROR(WriteNewFile(disk, path, {text}));
  RETURN_IF_ERROR(disk.SyncFolder(writing));
  RETURN_IF_ERROR(disk.Rename(writing, StepFolder(folder, record.step)));
  return disk.SyncFolder(folder);
}

}  // namespace

absl::Status WriteCheckpoint(const Session& session, CheckpointRecord record, const std::string& folder, Disk& disk) {
  const bool commits = session.local_ranks().front() == 0;
  const std::string writing = WritingFolder(folder, record.step);
  const absl::Status made = commits ? MakeWritingFolder(folder, writing, disk) : absl::OkStatus();
  RETURN_IF_ERROR(Agree(session, made).status());
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointBegun));
  const absl::StatusOr<WrittenShards> written = WriteShards(session, StepFolder(folder, record.step), writing, disk);
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointShards));
  const absl::StatusOr<std::vector<std::string>> all =
      Agree(session, written.status(), written.ok() ? Pack(*written) : "");
  absl::Status committed = all.status();
  if (commits && all.ok()) {
    RETURN_IF_ERROR(Pass(FailPoint::kCheckpointRecord));
    AddShards(session.program().state_graph(), *all, record);
    committed = Commit(record, folder, writing, disk);
  }
  // What is left of it makes room for the next one; if that cannot be done, the next one says so.
  if (commits && !committed.ok()) RemoveFolderWithFiles(disk, writing).IgnoreError();
  if (!all.ok()) return committed;
  RETURN_IF_ERROR(Pass(FailPoint::kCheckpointCommitted));
  return Agree(session, committed).status();
}

}  // namespace partita
