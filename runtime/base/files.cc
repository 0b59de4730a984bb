#include "runtime/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The kernel moves at most 2 GiB - 4 KiB in one call.
constexpr size_t kLargestTransfer = size_t{1} << 30;
constexpr int64_t kFirstChunk = 64 << 10;

// Closes what it holds unless Close() was called, whose error matters to a writer.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// std::strerror is not thread-safe; this is.
std::string Reason(int error) { return std::generic_category().message(error); }

absl::Status SystemError(const char* what, const std::string& path) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) return ResourceExhausted("{}: cannot {}: {}", path, what, Reason(error));
  if (LacksDescriptors(error)) return NoDescriptors(path + ": cannot " + what);
  return InvalidArgument("{}: cannot {}: {}", path, what, Reason(error));
}

// Of a file that is open: the path was right, but there is no room, or the disk fails.
absl::Status WriteError(const char* what, const std::string& path) {
  return ResourceExhausted("{}: cannot {}: {}", path, what, Reason(errno));
}

absl::Status TooLarge(const std::string& path, const std::string& found, int64_t limit) {
  return InvalidArgument("{}: found {} bytes, allowed are at most {}", path, found, limit);
}

// Waits until a pipe has bytes, or had a writer that has gone. A pipe that nobody has opened yet reads like an empty
// file, but is not at its end.
absl::Status AwaitBytes(int fd, std::chrono::milliseconds patience, const std::string& path) {
  pollfd file{fd, POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&file, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return SystemError("wait for it", path);
  if (ready > 0) return absl::OkStatus();
  return InvalidArgument("{}: nobody has written into it for {:.1f} s", path,
                         std::chrono::duration<double>(patience).count());
}

// A file opened with O_NONBLOCK.
struct Source {
  const std::string& path;
  std::chrono::milliseconds patience;
  int fd;
};

// Reads up to `count` bytes to `out`; fewer only at the end of the file.
absl::StatusOr<int64_t> ReadUpTo(const Source& source, char* out, int64_t count) {
  int64_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(source.fd, out + done, std::min<size_t>(count - done, kLargestTransfer));
    if (got == 0) break;
    if (got > 0) {
      done += got;
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(AwaitBytes(source.fd, source.patience, source.path));
    } else if (errno != EINTR) {
      return SystemError("read", source.path);
    }
  }
  return done;
}

absl::Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), std::min(bytes.size(), kLargestTransfer));
    if (put >= 0) {
      bytes.remove_prefix(put);
    } else if (errno != EINTR) {
      return WriteError("write", path);
    }
  }
  return absl::OkStatus();
}

absl::Status WriteMade(int fd, const MakeBytes& make, const std::string& path) {
  return make([&](std::string_view bytes) { return WriteAll(fd, bytes, path); });
}

// Beside the target, so that the rename stays in one file system; unique among the threads of all processes. In
// containers that share a folder processes have the same numbers, and a killed one may have left its file: the time at
// which a process first writes tells them apart.
std::string TemporaryPath(const std::string& path) {
  static std::atomic<uint64_t> counter{
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())};
  return fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Makes the rename itself durable. Some file systems cannot sync a folder (EINVAL): nothing more can be done there.
absl::Status SyncFolder(const std::string& path) {
  Descriptor fd(::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("open its folder to sync it", path);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return WriteError("sync its folder", path);
  return absl::OkStatus();
}

absl::Status WriteWhole(Descriptor& fd, const MakeBytes& make, const std::string& path) {
  RETURN_IF_ERROR(WriteMade(fd.get(), make, path));
  if (::fsync(fd.get()) != 0) return WriteError("sync", path);
  return absl::OkStatus();
}

// A file without a name; below 0: the file system, or a system without /proc, has none that could get one.
int OpenNameless(const std::string& folder, mode_t mode) {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  return ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
}

// The file as `temporary`, whole and on the disk. It has that name only then, where the file system can do so.
absl::Status WriteTemporary(const std::string& temporary, const MakeBytes& make, mode_t mode, const std::string& path) {
  Descriptor nameless(OpenNameless(FolderOf(path), mode));
  if (nameless.get() >= 0) {
    RETURN_IF_ERROR(WriteWhole(nameless, make, path));
    const std::string link = fmt::format("/proc/self/fd/{}", nameless.get());
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) == 0) return absl::OkStatus();
    return SystemError("create a file beside it", path);
  }
  Descriptor named(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (named.get() < 0) return SystemError("create a file beside it", path);
  RETURN_IF_ERROR(WriteWhole(named, make, path));
  if (!named.Close()) return WriteError("close", path);
  return absl::OkStatus();
}

absl::Status Replace(const std::string& path, const MakeBytes& make, mode_t mode) {
  const std::string temporary = TemporaryPath(path);
  absl::Status status = WriteTemporary(temporary, make, mode, path);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) status = SystemError("replace", path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(path);
}

// Of the system's own links, /dev/stdout and its like. Any other link may be a stranger's, made to have this user write
// where the stranger cannot.
bool IsSystemLink(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

absl::Status WriteInPlace(const std::string& path, const MakeBytes& make) {
  const int follow = IsSystemLink(path) ? 0 : O_NOFOLLOW;
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | follow));
  if (fd.get() < 0) return SystemError("open for writing", path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0 || S_ISREG(info.st_mode)) {
    return InvalidArgument("{}: became a file while it was opened; expected a pipe or a device", path);
  }
  RETURN_IF_ERROR(WriteMade(fd.get(), make, path));
  if (!fd.Close()) return WriteError("close", path);
  return absl::OkStatus();
}

// The file that `path` means in the end.
std::string FollowLinks(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  ::free(resolved);
  return result;
}

// A file without a name, for what is to be written to `path`.
int OpenAside(const std::string& path) {
  struct stat info;
  const bool replaced = ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  std::error_code none_found;
  const std::string folder = replaced ? FolderOf(IsSystemLink(path) ? FollowLinks(path) : path)
                                      : std::filesystem::temp_directory_path(none_found).string();
  const int nameless = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  const std::string temporary = TemporaryPath(folder + "/aside");
  const int named = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (named >= 0) ::unlink(temporary.c_str());
  return named;
}

absl::Status CopyFromBeginning(int fd, const WriteBytes& write, const std::string& path) {
  if (::lseek(fd, 0, SEEK_SET) < 0) return SystemError("go back in what was put aside for it", path);
  std::string piece(kFirstChunk, '\0');
  while (true) {
    ASSIGN_OR_RETURN(const int64_t got, ReadUpTo({path, kPipePatience, fd}, piece.data(), kFirstChunk));
    if (got == 0) return absl::OkStatus();
    RETURN_IF_ERROR(write({piece.data(), static_cast<size_t>(got)}));
  }
}

// What is there now, not through a stranger's link. A link that comes later is replaced by the rename, not followed.
absl::Status CheckNoLink(const std::string& path) {
  struct stat info;
  if (IsSystemLink(path) || ::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return absl::OkStatus();
  return InvalidArgument(
      "{}: is a symbolic link; expected a file: outputs are not written through links, so give the "
      "path that it leads to",
      path);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit, std::chrono::milliseconds patience) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("open", path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return SystemError("read the size", path);
  if (S_ISDIR(info.st_mode)) return InvalidArgument("{}: found a directory, allowed is a file", path);
  const bool has_size = S_ISREG(info.st_mode);
  if (!has_size && !S_ISFIFO(info.st_mode))
    return InvalidArgument("{}: found a device, allowed is a file or a pipe", path);
  if (has_size && info.st_size > limit) return TooLarge(path, fmt::to_string(info.st_size), limit);
  if (has_size) RETURN_IF_ERROR(CheckMemory(path, info.st_size));

  if (S_ISFIFO(info.st_mode)) RETURN_IF_ERROR(AwaitBytes(fd.get(), patience, path));

  // A file may grow while it is read, and a pipe has no size: one byte more than expected is asked for.
  std::string bytes;
  const Source source{path, patience, fd.get()};
  int64_t target = has_size ? info.st_size + 1 : std::min(kFirstChunk, limit + 1);
  while (true) {
    const int64_t begin = bytes.size();
    bytes.resize(target);
    ASSIGN_OR_RETURN(const int64_t got, ReadUpTo(source, bytes.data() + begin, target - begin));
    if (begin + got < target) {
      bytes.resize(begin + got);
      return bytes;
    }
    if (target > limit) return TooLarge(path, fmt::format("at least {}", target), limit);
    target = std::min(2 * target, limit + 1);
  }
}

absl::Status WriteFileAtomically(const std::string& path, const MakeBytes& make) {
  RETURN_IF_ERROR(CheckNoLink(path));
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return Replace(path, make, 0666);
  if (S_ISDIR(info.st_mode)) return InvalidArgument("{}: found a directory, allowed is a file", path);
  if (!S_ISREG(info.st_mode)) return WriteInPlace(path, make);
  return Replace(IsSystemLink(path) ? FollowLinks(path) : path, make, info.st_mode & 0777);
}

absl::Status WriteFileAtomically(const std::string& path, const MakeBytes& make, const MakeHead& head) {
  RETURN_IF_ERROR(CheckNoLink(path));
  const Descriptor aside(OpenAside(path));
  if (aside.get() < 0) return SystemError("create a file beside it", path);
  RETURN_IF_ERROR(WriteMade(aside.get(), make, path));
  ASSIGN_OR_RETURN(const std::string first, head());
  return WriteFileAtomically(path, [&](const WriteBytes& write) -> absl::Status {
    RETURN_IF_ERROR(write(first));
    return CopyFromBeginning(aside.get(), write, path);
  });
}

absl::Status WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces) {
  return WriteFileAtomically(path, [&](const WriteBytes& write) -> absl::Status {
    for (const std::string_view piece : pieces) RETURN_IF_ERROR(write(piece));
    return absl::OkStatus();
  });
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  return WriteFileAtomically(path, std::span(&contents, 1));
}

}  // namespace partita
