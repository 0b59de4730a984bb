#include "runtime/checkpoint/sharded/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The kernel moves at most 2 GiB - 4 KiB in one call.
constexpr size_t kLargestTransfer = size_t{1} << 30;

bool IsLink(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Of errno, at once behind the call.
absl::Status CannotBe(const char* what, const std::string& path) {
  const int error = errno;
  if ((error == ELOOP || error == ENOTDIR || error == EEXIST) && IsLink(path)) {
    return InvalidArgument("{}: cannot {}: it is a symbolic link, and links in a checkpoint folder are not followed",
                           path, what);
  }
  const std::string reason = std::generic_category().message(error);  // std::strerror is not thread-safe
  if (LacksDescriptors(error)) return NoDescriptors(path + ": cannot " + what);
  if (error == ENOSPC || error == EDQUOT || error == EIO) {
    return ResourceExhausted("{}: cannot {}: {}", path, what, reason);
  }
  return InvalidArgument("{}: cannot {}: {}", path, what, reason);
}

// Of a file that is open: the path was right, but there is no room, or the disk fails.
absl::Status WriteError(const char* what, const std::string& path) {
  return ResourceExhausted("{}: cannot {}: {}", path, what, std::generic_category().message(errno));
}

class SystemFile : public OutputFile {
 public:
  SystemFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~SystemFile() override { ::close(fd_); }

  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_, bytes.data(), std::min(bytes.size(), kLargestTransfer));
      if (put >= 0) {
        bytes.remove_prefix(static_cast<size_t>(put));
      } else if (errno != EINTR) {
        return WriteError("write", path_);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override { return ::fsync(fd_) == 0 ? absl::OkStatus() : WriteError("sync", path_); }

 private:
  const std::string path_;
  const int fd_;
};

// A folder, not followed through a link.
int OpenFolder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// The folder that a path lies in, held open for one operation: what the folder's name means may change meanwhile.
class Parent {
 public:
  explicit Parent(const std::string& path) : slash_(path.rfind('/')) {
    const bool none = slash_ == std::string::npos;
    folder_ = none ? "." : path.substr(0, std::max<size_t>(slash_, 1));
    name_ = none ? path : path.substr(slash_ + 1);
    fd_ = OpenFolder(folder_);
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;
  ~Parent() {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status Opened() const { return fd_ >= 0 ? absl::OkStatus() : CannotBe("open the folder", folder_); }
  int fd() const { return fd_; }
  const char* name() const { return name_.c_str(); }

 private:
  const size_t slash_;
  std::string folder_, name_;
  int fd_ = -1;
};

// Does not replace what has the name already, where the file system can tell.
int RenameToNew(const Parent& from, const Parent& to) {
  const int renamed = ::renameat2(from.fd(), from.name(), to.fd(), to.name(), RENAME_NOREPLACE);
  if (renamed == 0 || (errno != EINVAL && errno != ENOSYS)) return renamed;
  return ::renameat(from.fd(), from.name(), to.fd(), to.name());
}

class System : public Disk {
 public:
  Kind KindOf(const std::string& path) override {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Kind::kNothing : Kind::kOther;
    return S_ISDIR(info.st_mode) ? Kind::kFolder : Kind::kOther;
  }

  absl::Status MakeFolder(const std::string& path) override {
    const Parent parent(path);
    RETURN_IF_ERROR(parent.Opened());
    if (::mkdirat(parent.fd(), parent.name(), 0777) == 0) return absl::OkStatus();
    const int error = errno;
    if (error == EEXIST && KindOf(path) == Kind::kFolder) return absl::OkStatus();
    errno = error;
    return CannotBe("make the folder", path);
  }

  absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path) override {
    const Parent parent(path);
    RETURN_IF_ERROR(parent.Opened());
    const int fd = ::openat(parent.fd(), parent.name(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return CannotBe("create", path);
    return std::make_unique<SystemFile>(path, fd);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    const Parent source(from), target(to);
    RETURN_IF_ERROR(source.Opened());
    RETURN_IF_ERROR(target.Opened());
    return RenameToNew(source, target) == 0 ? absl::OkStatus() : CannotBe("take that name", to);
  }

  // Some file systems cannot sync a folder (EINVAL): nothing more can be done there.
  absl::Status SyncFolder(const std::string& path) override {
    const int fd = OpenFolder(path);
    if (fd < 0) return CannotBe("open the folder", path);
    absl::Status status;
    if (::fsync(fd) != 0 && errno != EINVAL) status = WriteError("sync the folder", path);
    ::close(fd);
    return status;
  }

  absl::Status RemoveFile(const std::string& path) override {
    const Parent parent(path);
    RETURN_IF_ERROR(parent.Opened());
    return ::unlinkat(parent.fd(), parent.name(), 0) == 0 ? absl::OkStatus() : CannotBe("remove", path);
  }

  absl::Status RemoveFolder(const std::string& path) override {
    const Parent parent(path);
    RETURN_IF_ERROR(parent.Opened());
    return ::unlinkat(parent.fd(), parent.name(), AT_REMOVEDIR) == 0 ? absl::OkStatus()
                                                                     : CannotBe("remove the folder", path);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    const int fd = OpenFolder(folder);
    if (fd < 0 && errno == ENOENT) return std::vector<std::string>();
    DIR* const opened = fd < 0 ? nullptr : ::fdopendir(fd);
    if (opened == nullptr) {
      const absl::Status status = CannotBe("list the folder", folder);
      if (fd >= 0) ::close(fd);
      return status;
    }
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(opened)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(opened);
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace

Disk& SystemDisk() {
  static auto& system = *new System();
  return system;
}

absl::Status WriteNewFile(Disk& disk, const std::string& path, const std::vector<std::string_view>& pieces) {
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, disk.Create(path));
  for (const std::string_view piece : pieces) RETURN_IF_ERROR(file->Write(piece));
  return file->Sync();
}

std::string ResolveLink(const std::string& folder) {
  if (!IsLink(folder)) return folder;
  char* const resolved = ::realpath(folder.c_str(), nullptr);
  if (resolved == nullptr) return folder;
  std::string target = resolved;
  ::free(resolved);
  return target;
}

}  // namespace partita
