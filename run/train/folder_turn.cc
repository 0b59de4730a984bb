#include "run/train/folder_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(5);  // a turn takes a read and a write of a small file

}  // namespace

absl::StatusOr<FolderTurn> FolderTurn::Wait(const std::string& path, std::chrono::milliseconds patience) {
  const std::string parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent;
  FolderTurn turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto end = std::chrono::steady_clock::now() + patience;
  while (turn.fd_ >= 0 && ::flock(turn.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    if (std::chrono::steady_clock::now() > end) {
      return ResourceExhausted("{}: another process has locked its folder, '{}', for {} s", path, folder,
                               std::chrono::duration_cast<std::chrono::seconds>(patience).count());
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return turn;
}

FolderTurn::~FolderTurn() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace partita
