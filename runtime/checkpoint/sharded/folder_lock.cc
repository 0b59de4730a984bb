#include "runtime/checkpoint/sharded/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kLock[] = "lock";

std::string Reason() { return std::generic_category().message(errno); }

// Through no link, neither of the folder nor of the file.
int OpenLock(const std::string& folder) {
  const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (parent < 0) return -1;
  const int fd = ::openat(parent, kLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
  const int error = errno;
  ::close(parent);
  errno = error;
  return fd;
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/" + kLock;
  const int fd = OpenLock(folder);
  if (fd < 0 && errno == ELOOP) {
    return InvalidArgument("{}: is a symbolic link; expected a file: links in a checkpoint folder are not followed",
                           path);
  }
  if (fd < 0 && LacksDescriptors(errno)) return NoDescriptors(path + ": cannot create");
  if (fd < 0) return InvalidArgument("{}: cannot create: {}", path, Reason());
  FolderLock lock(folder, fd);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return InvalidArgument("{}: is not a file", path);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    RETURN_IF_ERROR(lock.Check());
    return lock;
  }
  if (errno == EWOULDBLOCK) return InvalidArgument("{}: another run writes its checkpoints there", folder);
  return InvalidArgument("{}: cannot lock: {}", path, Reason());
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status FolderLock::Check() const {
  struct stat held, named;
  if (::fstat(fd_, &held) == 0 && ::lstat((folder_ + "/" + kLock).c_str(), &named) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{}: is not the folder that this run has locked: it, or the file 'lock' in it, was renamed, removed or replaced; "
      "nothing is written there, since another run may",
      folder_);
}

}  // namespace partita
