#include "runtime/checkpoint/sharded/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) {
    const std::string reason = std::generic_category().message(errno);
    return InvalidArgument("{}: cannot create: {}", path, reason);
  }
  FolderLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return InvalidArgument("{}: another run writes its checkpoints there", folder);
  return InvalidArgument("{}: cannot lock: {}", path, std::generic_category().message(errno));
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace partita
