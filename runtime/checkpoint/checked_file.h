// A safetensors file that was read to its end and found whole. It keeps no tensors in memory; callers read a tensor
// again, in pieces.
#ifndef PARTITA_RUNTIME_CHECKPOINT_CHECKED_FILE_H_
#define PARTITA_RUNTIME_CHECKPOINT_CHECKED_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/input_file.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// The bytes of a tensor, from its first on.
class TensorStream {
 public:
  TensorStream(InputFile input, std::string tensor, std::string hash)
      : input_(std::move(input)), tensor_(std::move(tensor)), hash_(std::move(hash)) {}

  // Until the next ones are asked for; not more than are left.
  absl::StatusOr<std::string_view> Next(int64_t count);

  // Behind the last. kInvalidArgument: they are not those that were checked.
  absl::Status CheckEnd() const;

 private:
  InputFile input_;
  const std::string tensor_, hash_;
  FileHash read_;
  std::string bytes_;
};

// Thread-compatible.
class CheckedFile {
 public:
  // Of the tensors that are wanted; null: all. kInvalidArgument: the checksum of all tensors is wrong.
  static absl::StatusOr<CheckedFile> Check(SafetensorsReader reader, const TensorChoice& wanted);

  const std::string& path() const { return file_.path(); }
  const Metadata& metadata() const { return file_.metadata(); }

  // Of the wanted tensors' names, types, shapes and bytes: equal for files that hold the same.
  std::string Digest() const;

  // Null: there is none, or it is not wanted.
  const StoredTensor* Find(std::string_view name) const;
  // Errors are those of SafetensorsFile::Find.
  absl::StatusOr<const StoredTensor*> Find(std::string_view name, DType dtype, std::span<const int64_t> shape) const {
    return file_.Find(name, dtype, shape);
  }

  // Of a tensor that is wanted (CHECKed).
  absl::StatusOr<TensorStream> Open(const StoredTensor& tensor) const;

 private:
  CheckedFile(SafetensorsFile file, int64_t data_begin, std::map<std::string, std::string, std::less<>> hashes)
      : file_(std::move(file)), data_begin_(data_begin), hashes_(std::move(hashes)) {}

  SafetensorsFile file_;  // without bytes
  int64_t data_begin_;
  std::map<std::string, std::string, std::less<>> hashes_;  // of the wanted tensors, by name
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_CHECKED_FILE_H_
