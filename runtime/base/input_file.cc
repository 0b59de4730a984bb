#include "runtime/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The kernel moves at most 2 GiB - 4 KiB in one call.
constexpr size_t kLargestTransfer = size_t{1} << 30;

absl::Status CannotBe(const char* what, const std::string& path) {
  if (LacksDescriptors(errno)) return NoDescriptors(path + ": cannot " + what);
  // std::strerror is not thread-safe; this is.
  return InvalidArgument("{}: cannot {}: {}", path, what, std::generic_category().message(errno));
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

// Reads up to `count` bytes to `out`; fewer only at the end of the file.
absl::StatusOr<int64_t> ReadUpTo(int fd, char* out, int64_t count, const std::string& path) {
  int64_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(fd, out + done, std::min<size_t>(count - done, kLargestTransfer));
    if (got == 0) break;
    if (got > 0) {
      done += got;
    } else if (errno != EINTR) {
      return CannotBe("read", path);
    }
  }
  return done;
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path, Links links) {
  const int follow = links == Links::kFollowed ? 0 : O_NOFOLLOW;
  // A pipe that nobody writes would not even be opened otherwise; of regular files the flag says nothing.
  InputFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow), 0);
  if (file.fd_ < 0 && errno == ELOOP && links == Links::kRefused) {
    return InvalidArgument("{}: found a symbolic link, allowed is a file", path);
  }
  if (file.fd_ < 0) return CannotBe("open", path);
  struct stat info;
  if (::fstat(file.fd_, &info) != 0) return CannotBe("read the size", path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{}: found {}, allowed is a file", path, KindOf(info.st_mode));
  file.size_ = info.st_size;
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status InputFile::Append(int64_t count, std::string& bytes) {
  CHECK(count >= 0 && count <= rest());
  RETURN_IF_ERROR(CheckMemory(path_, count));
  return OrExhausted(path_.c_str(), [&]() -> absl::Status {
    const size_t before = bytes.size();
    bytes.resize(before + static_cast<size_t>(count));
    ASSIGN_OR_RETURN(const int64_t got, ReadUpTo(fd_, bytes.data() + before, count, path_));
    if (got < count) {
      return InvalidArgument("{}: found its end after {} bytes, it had {} when it was opened", path_, read_ + got,
                             size_);
    }
    read_ += got;
    return absl::OkStatus();
  });
}

absl::Status InputFile::Skip(int64_t count) {
  CHECK(count >= 0 && count <= rest());
  if (::lseek(fd_, count, SEEK_CUR) < 0) return CannotBe("go on in it", path_);
  read_ += count;
  return absl::OkStatus();
}

absl::Status InputFile::CheckEnd() {
  char more;
  ASSIGN_OR_RETURN(const int64_t got, ReadUpTo(fd_, &more, 1, path_));
  if (got == 0) return absl::OkStatus();
  return InvalidArgument("{}: found more than {} bytes, allowed is the end there (is it being written?)", path_, read_);
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, int64_t limit, Links links) {
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path, links));
  if (file.size() > limit) {
    return InvalidArgument("{}: found {} bytes, allowed are at most {}", path, file.size(), limit);
  }
  std::string bytes;
  RETURN_IF_ERROR(file.Append(file.size(), bytes));
  RETURN_IF_ERROR(file.CheckEnd());
  return bytes;
}

}  // namespace partita
