#include "tools/service/run_folder.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <functional>
#include <system_error>

#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/disk.h"

namespace partita::service {
namespace {

namespace fs = std::filesystem;

// For its owner alone, if it is new.
absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  if (error) return InvalidArgument("{}: cannot be created: {}", path, error.message());
  if (is_new) fs::permissions(path, fs::perms::owner_all, error);
  return absl::OkStatus();
}

// The folder may have been another one's before: only files that a service writes are removed.
void RemoveFiles(const std::string& folder, const std::function<bool(const std::string& name)>& is_left) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && is_left(entry.path().filename().string())) fs::remove(entry.path(), error);
  }
}

bool IsModelText(const std::string& name) { return name.starts_with("model") && name.ends_with(".pbtxt"); }

// Of a file that was being written where the file system cannot hide it (runtime/base/files.h).
bool IsTemporary(const std::string& name) { return name.find(".tmp-") != std::string::npos; }

bool IsRun(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "run.pbtxt", error);
}

absl::StatusOr<RunRecord> ReadRecord(const std::string& path) {
  constexpr int64_t kLargest = 64 << 20;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLargest));
  RunRecord record;
  if (!google::protobuf::TextFormat::ParseFromString(text, &record)) {
    return InvalidArgument("{}: is not a run's record; remove its folder", path);
  }
  return record;
}

}  // namespace

absl::StatusOr<RunFolder> RunFolder::Open(const std::string& path) {
  std::error_code error;
  const std::string state = fs::absolute(path, error).string();  // as models of requests have it
  RETURN_IF_ERROR(MakeFolder(state));
  ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(state));
  RunFolder folder(state, std::move(lock));
  RETURN_IF_ERROR(MakeFolder(folder.scratch()));
  RemoveFiles(folder.scratch(), [](const std::string& name) { return IsModelText(name) || IsTemporary(name); });
  RETURN_IF_ERROR(MakeFolder(state + "/runs"));
  for (const fs::directory_entry& run : fs::directory_iterator(state + "/runs", error)) {
    if (!run.path().filename().string().starts_with("run-")) continue;
    RemoveFiles(run.path().string(), IsTemporary);
    if (IsRun(run.path())) {
      RETURN_IF_ERROR(RemoveHalfWritten(SystemDisk(), (run.path() / "checkpoints").string()));
    } else {  // a process that ended before it wrote the record had admitted nothing yet
      RemoveFiles(run.path().string(), IsModelText);
      fs::remove(run.path(), error);
    }
  }
  return folder;
}

absl::StatusOr<std::vector<RunRecord>> RunFolder::Read() const {
  std::vector<RunRecord> records;
  std::error_code error;
  for (const fs::directory_entry& run : fs::directory_iterator(state_ + "/runs", error)) {
    if (!IsRun(run.path())) continue;
    ASSIGN_OR_RETURN(RunRecord record, ReadRecord((run.path() / "run.pbtxt").string()));
    record.mutable_status()->set_id(run.path().filename().string());
    records.push_back(std::move(record));
  }
  return records;
}

absl::Status RunFolder::Write(const RunRecord& record) const {
  std::string text;
  google::protobuf::TextFormat::PrintToString(record, &text);
  return WriteFileAtomically(Of(record.status().id()) + "/run.pbtxt", text);
}

}  // namespace partita::service
