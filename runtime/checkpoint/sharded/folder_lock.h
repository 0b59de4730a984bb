// One run at a time writes checkpoints to a folder.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace partita {

// Held while it lives. A process that ends, however it does, holds nothing any more. Const methods: any thread.
class FolderLock {
 public:
  // The folder exists. kInvalidArgument: another run holds it, or it cannot be written.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

  // Whether the folder's name still leads to the lock that is held. kInvalidArgument: the folder or its lock was
  // renamed, removed or replaced, so another run may write there.
  absl::Status Check() const;

 private:
  FolderLock(std::string folder, int fd) : folder_(std::move(folder)), fd_(fd) {}

  std::string folder_;
  int fd_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_FOLDER_LOCK_H_
