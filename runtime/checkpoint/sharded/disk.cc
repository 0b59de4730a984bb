#include "runtime/checkpoint/sharded/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

// The kernel moves at most 2 GiB - 4 KiB in one call.
constexpr size_t kLargestTransfer = size_t{1} << 30;

// Of errno, at once behind the call.
absl::Status CannotBe(const char* what, const std::string& path) {
  const int error = errno;
  const std::string reason = std::generic_category().message(error);  // std::strerror is not thread-safe
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

bool IsFolder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

class System : public Disk {
 public:
  absl::Status MakeFolder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) == 0 || (errno == EEXIST && IsFolder(path))) return absl::OkStatus();
    const size_t slash = path.rfind('/');
    if (errno != ENOENT || slash == std::string::npos || slash == 0) return CannotBe("make the folder", path);
    RETURN_IF_ERROR(MakeFolder(path.substr(0, slash)));
    if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
    return CannotBe("make the folder", path);
  }

  absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return CannotBe("create", path);
    return std::make_unique<SystemFile>(path, fd);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    return std::rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus() : CannotBe("rename", from);
  }

  // Some file systems cannot sync a folder (EINVAL): nothing more can be done there.
  absl::Status SyncFolder(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return CannotBe("open the folder", path);
    absl::Status status;
    if (::fsync(fd) != 0 && errno != EINVAL) status = WriteError("sync the folder", path);
    ::close(fd);
    return status;
  }

  absl::Status RemoveFile(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? absl::OkStatus() : CannotBe("remove", path);
  }

  absl::Status RemoveFolder(const std::string& path) override {
    return ::rmdir(path.c_str()) == 0 ? absl::OkStatus() : CannotBe("remove the folder", path);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    DIR* const opened = ::opendir(folder.c_str());
    if (opened == nullptr && errno == ENOENT) return std::vector<std::string>();
    if (opened == nullptr) return CannotBe("list the folder", folder);
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

absl::Status RemoveFolderWithFiles(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  if (names.empty() && !IsFolder(folder)) return absl::OkStatus();
  for (const std::string& name : names) RETURN_IF_ERROR(disk.RemoveFile(folder + "/" + name));
  return disk.RemoveFolder(folder);
}

}  // namespace partita
