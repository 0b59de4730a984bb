// A disk on which one operation fails, or is the last: data that was not synced may then be lost.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_FAILING_DISK_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_FAILING_DISK_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/checkpoint/sharded/disk.h"

namespace partita {

// The real disk without its syncs, but for operation `fatal` of all that change anything, counted from 0 over all
// ranks. Thread-safe.
class FailingDisk : public Disk {
 public:
  enum class Failure { kFull, kEnd };  // it alone fails; it and all behind it do: the job has ended

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  FailingDisk(Failure failure, int64_t fatal) : failure_(failure), fatal_(fatal) {}

  // That would change anything, until now.
  int64_t operations() const { return operations_; }

  // A power cut behind the end: of what is not synced, `lost` says for each change in turn whether it is lost. Files
  // lose their bytes, names are as before, and what was removed is back.
  void CutPower(const std::vector<bool>& lost);

  Kind KindOf(const std::string& path) override { return SystemDisk().KindOf(path); }
  absl::Status MakeFolder(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status SyncFolder(const std::string& path) override;
  absl::Status RemoveFile(const std::string& path) override;
  absl::Status RemoveFolder(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override;

 private:
  class File;
  // A change of names in a folder that is not synced.
  struct Change {
    enum class Kind { kMade, kRenamed, kRemoved } kind;
    std::string path;    // in the folder
    std::string before;  // kRenamed: what it was called
    std::string bytes;   // kRemoved: of the file
  };

  absl::Status Count();
  void Undo(const Change& change);

  const Failure failure_;
  const int64_t fatal_;
  std::mutex mutex_;
  int64_t operations_ = 0;
  std::map<std::string, bool> unsynced_;  // files whose bytes are
  std::vector<Change> changes_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_FAILING_DISK_H_
