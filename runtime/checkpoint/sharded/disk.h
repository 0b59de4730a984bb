// The file operations of a checkpoint, one call for each operation that can fail or be the last one, so that tests can
// let any of them fail or end the process after it (docs/design.md 5.33).
//
// A checkpoint folder may be writable by others. So no operation follows a symbolic link, neither at the end of `path`
// nor in the folder that `path` lies in; links further up are the user's own (ResolveLink). A link is an error.
//
// Nothing is sure to outlast a power cut but what was synced: a file's bytes by OutputFile::Sync, its name, and renames
// and removals, by SyncFolder of the folder that they are in. Errors name the path and the system's reason: what cannot
// be written (a full disk, a disk that fails) is kResourceExhausted, a path that is wrong kInvalidArgument.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_DISK_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_DISK_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// A new file; closed when it goes.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;  // all of them, behind those before
  virtual absl::Status Sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;

  enum class Kind { kNothing, kFolder, kOther };  // kOther: a file, a link, or an entry that cannot be examined
  virtual Kind KindOf(const std::string& path) = 0;

  // In a folder that exists, which is never made anew; OK if the new one exists already.
  virtual absl::Status MakeFolder(const std::string& path) = 0;
  // kInvalidArgument: there is one.
  virtual absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path) = 0;
  // kInvalidArgument: `to` exists.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status SyncFolder(const std::string& path) = 0;
  virtual absl::Status RemoveFile(const std::string& path) = 0;
  virtual absl::Status RemoveFolder(const std::string& path) = 0;  // an empty one
  // Sorted names; none if there is no such folder.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& folder) = 0;
};

// That of the system. Thread-safe.
Disk& SystemDisk();

// Writes and syncs a new file; its folder is still to be synced.
absl::Status WriteNewFile(Disk& disk, const std::string& path, const std::vector<std::string_view>& pieces);

// The folder that a user's path names: the target, if the path is a link to a folder. Resolved once, so that a link
// that is replaced later leads nowhere else.
std::string ResolveLink(const std::string& folder);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_DISK_H_
