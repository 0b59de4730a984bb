#include "tools/benchmarks/chaos/failing_disk.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& path) { return fs::path(path).parent_path(); }

std::string BytesOf(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// `path` as it is called when `from` is called `to`.
std::string Renamed(const std::string& path, const std::string& from, const std::string& to) {
  return path == from || path.starts_with(from + "/") ? to + path.substr(from.size()) : path;
}

}  // namespace

class FailingDisk::File : public OutputFile {
 public:
  File(FailingDisk& disk, std::string path, std::unique_ptr<OutputFile> file)
      : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
  absl::Status Write(std::string_view bytes) override {
    const std::lock_guard lock(disk_.mutex_);
    RETURN_IF_ERROR(disk_.Count());
    return file_->Write(bytes);
  }
  absl::Status Sync() override {
    const std::lock_guard lock(disk_.mutex_);
    RETURN_IF_ERROR(disk_.Count());
    disk_.unsynced_.erase(path_);
    return absl::OkStatus();
  }

 private:
  FailingDisk& disk_;
  const std::string path_;
  const std::unique_ptr<OutputFile> file_;
};

absl::Status FailingDisk::Count() {
  const int64_t operation = operations_++;
  if (operation != fatal_ && (failure_ == Failure::kFull || operation < fatal_)) return absl::OkStatus();
  return failure_ == Failure::kFull ? ResourceExhausted("the disk is full") : Unavailable("the job has ended");
}

absl::Status FailingDisk::MakeFolder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  if (!fs::exists(path)) changes_.push_back({Change::Kind::kMade, path, "", ""});
  return SystemDisk().MakeFolder(path);
}

absl::StatusOr<std::unique_ptr<OutputFile>> FailingDisk::Create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, SystemDisk().Create(path));
  unsynced_[path] = true;
  changes_.push_back({Change::Kind::kMade, path, "", ""});
  return std::make_unique<File>(*this, path, std::move(file));
}

absl::Status FailingDisk::Rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  RETURN_IF_ERROR(SystemDisk().Rename(from, to));
  std::map<std::string, bool> unsynced;
  for (const auto& [path, yes] : unsynced_) unsynced[Renamed(path, from, to)] = yes;
  unsynced_ = std::move(unsynced);
  // A folder's own entry is lost by its first name: the rename is a change by itself.
  for (Change& change : changes_) {
    if (change.path != from) change.path = Renamed(change.path, from, to);
  }
  changes_.push_back({Change::Kind::kRenamed, to, from, ""});
  return absl::OkStatus();
}

absl::Status FailingDisk::SyncFolder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  std::erase_if(changes_, [&](const Change& change) { return FolderOf(change.path) == path; });
  return absl::OkStatus();
}

absl::Status FailingDisk::RemoveFile(const std::string& path) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  changes_.push_back({Change::Kind::kRemoved, path, "", unsynced_.contains(path) ? "" : BytesOf(path)});
  return SystemDisk().RemoveFile(path);
}

absl::Status FailingDisk::RemoveFolder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(Count());
  return SystemDisk().RemoveFolder(path);
}

absl::StatusOr<std::vector<std::string>> FailingDisk::List(const std::string& folder) {
  return SystemDisk().List(folder);
}

void FailingDisk::Undo(const Change& change) {
  if (change.kind == Change::Kind::kMade) {
    fs::remove_all(change.path);
  } else if (change.kind == Change::Kind::kRenamed) {
    if (fs::exists(change.path) && !fs::exists(change.before)) fs::rename(change.path, change.before);
  } else if (!fs::exists(change.path)) {
    fs::create_directories(FolderOf(change.path));
    std::ofstream(change.path, std::ios::binary) << change.bytes;
  }
}

void FailingDisk::CutPower(const std::vector<bool>& lost) {
  size_t next = 0;
  const auto is_lost = [&] { return lost[next++ % lost.size()]; };
  for (const auto& [path, yes] : unsynced_) {
    if (is_lost() && fs::exists(path)) fs::resize_file(path, fs::file_size(path) / 2);
  }
  while (!changes_.empty()) {
    const Change last = std::move(changes_.back());
    changes_.pop_back();
    if (!is_lost()) continue;
    Undo(last);
    if (last.kind != Change::Kind::kRenamed) continue;
    for (Change& change : changes_) change.path = Renamed(change.path, last.path, last.before);
  }
}

}  // namespace partita
