// One run at a time writes checkpoints to a folder.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace partita {

// Held while it lives; a process that ends, however, holds nothing any more.
class FolderLock {
 public:
  // The folder is there. kInvalidArgument: somebody else holds it, or it cannot be written.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_
