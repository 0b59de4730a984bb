#include "tests/fuzz/targets/input_path.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/fuzz/targets/promise.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

// A file in memory, and a name for it, which goes when the process ends in order.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& ending) : fd_(::memfd_create("input", 0)) {
    Promise(fd_ >= 0, "no file in memory");
    path_ = fs::temp_directory_path() / fmt::format("fuzz-{}{}", ::getpid(), ending);
    std::error_code error;
    fs::remove(path_, error);
    fs::create_symlink(fmt::format("/proc/{}/fd/{}", ::getpid(), fd_), path_, error);
    Promise(!error, path_ + ": " + error.message());
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    std::error_code error;
    fs::remove(path_, error);
    ::close(fd_);
  }

  void Write(const std::string& bytes) const {
    const bool written =
        ::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    Promise(written, "cannot write " + path_);
  }
  const std::string& path() const { return path_; }

 private:
  const int fd_;
  std::string path_;
};

}  // namespace

std::string AsFile(const std::string& ending, const std::string& bytes) {
  static std::map<std::string, MemoryFile> files;
  const MemoryFile& file = files.try_emplace(ending, ending).first->second;
  file.Write(bytes);
  return file.path();
}

}  // namespace partita
