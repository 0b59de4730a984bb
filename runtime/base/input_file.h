// A file that is read from its beginning on, in pieces, so that its header can be looked at before memory is taken for
// what the header promises, and only a part of that is read.
#ifndef PARTITA_RUNTIME_BASE_INPUT_FILE_H_
#define PARTITA_RUNTIME_BASE_INPUT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace partita {

// Whether a path may end in a symbolic link. Not in a folder that others may write.
enum class Links : uint8_t { kFollowed, kRefused };

class InputFile {
 public:
  // kInvalidArgument: it cannot be opened, or is not a regular file. Folders, pipes, devices and sockets have no size
  // to compare with a limit, and some never end.
  static absl::StatusOr<InputFile> Open(const std::string& path, Links links = Links::kFollowed);
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_), read_(other.read_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }          // bytes, when it was opened
  int64_t rest() const { return size_ - read_; }  // of them, what was not read yet

  // Adds the next `count` bytes, at most rest(), to `bytes`. kInvalidArgument: the file became shorter.
  // kResourceExhausted: there is no memory for them.
  absl::Status Append(int64_t count, std::string& bytes);

  // Goes over the next `count` bytes, at most rest(), which are not read.
  absl::Status Skip(int64_t count);

  // kInvalidArgument: something lies behind the bytes that were read; a file that is being written is not taken.
  absl::Status CheckEnd();

 private:
  InputFile(std::string path, int fd, int64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_;
  int64_t size_;
  int64_t read_ = 0;
};

// The bytes of a regular file of at most `limit`. Of data and models; text, which may come by a pipe, is read by
// ReadFile (runtime/base/files.h).
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, int64_t limit, Links links = Links::kFollowed);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_INPUT_FILE_H_
