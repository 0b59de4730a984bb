// One process or thread at a time reads and replaces a file, so that none overwrites what another has just added.
#ifndef PARTITA_RUN_TRAIN_FOLDER_TURN_H_
#define PARTITA_RUN_TRAIN_FOLDER_TURN_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace partita {

// Held while it lives, of the folder of `path`: the file itself is replaced, so a lock of the file would be of the old
// one. Leaves no file behind. File systems that cannot lock folders (some network ones) grant every turn at once.
class FolderTurn {
 public:
  // Waits for the others. kResourceExhausted: the turn did not come within `patience`. A folder that cannot be opened
  // is no error here: reading or writing the file says why.
  static absl::StatusOr<FolderTurn> Wait(const std::string& path,
                                         std::chrono::milliseconds patience = std::chrono::seconds(60));
  FolderTurn(FolderTurn&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderTurn& operator=(FolderTurn&&) = delete;
  ~FolderTurn();

 private:
  explicit FolderTurn(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_FOLDER_TURN_H_
