// Safetensors files: named tensors that any framework reads, and that hold no code.
//
//   u64 little-endian N | N bytes of JSON (header.h) | the tensors, which tile the rest of the file exactly
//
// Ours say {"format":"pt"} in their metadata, as other readers want, and carry a checksum over everything else, so that
// any damaged byte is found on loading, one of the checksum's own key too. The same tensors and metadata give the same
// bytes.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SAFETENSORS_H_
#define PARTITA_RUNTIME_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "runtime/base/input_file.h"
#include "runtime/checkpoint/header.h"

namespace partita {

class FileHash;

// A tensor to be saved; the bytes stay the caller's.
struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

// The bytes of the file in pieces that refer to `tensors`, to be written one after the other; for tests and other
// sinks. kInvalidArgument: two tensors of one name, a name that is empty or `__metadata__`, text that is not UTF-8,
// bytes that are not as many as dtype and shape say, a metadata key that is the writer's ("format", kChecksumKey).
struct EncodedFile {
  std::string head;
  std::vector<std::span<const std::byte>> tensors;
};
absl::StatusOr<EncodedFile> EncodeSafetensors(const std::string& file, std::span<const NamedTensor> tensors,
                                              const Metadata& metadata);

// A file whose tensors' bytes come later, one tensor after the other: their `bytes` are not looked at. Errors are those
// of EncodeSafetensors.
class SafetensorsOutline {
 public:
  static absl::StatusOr<SafetensorsOutline> Make(const std::string& file, std::span<const NamedTensor> tensors,
                                                 const Metadata& metadata);

  // In which the tensors lie in the file, by their places in the list.
  std::span<const size_t> order() const { return order_; }
  int64_t bytes(size_t place) const;  // of the tensor that lies at this place of the order

  // What the bytes of all tensors are to be added to, in their order; and what then stands before them in the file.
  absl::StatusOr<FileHash> BeginHash() const;
  absl::StatusOr<std::string> Head(const FileHash& hash) const;

 private:
  SafetensorsOutline(std::string file, Header header, std::vector<size_t> order)
      : file_(std::move(file)), header_(std::move(header)), order_(std::move(order)) {}

  std::string file_;
  Header header_;
  std::vector<size_t> order_;
};

// Saves atomically (runtime/base/files.h): after an error an older file is as it was.
absl::Status SaveSafetensors(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata);

// A file in memory. Views into it are valid until it is destroyed or moved. Immutable, so thread-safe.
class SafetensorsFile {
 public:
  // Every rule of the format is checked; a broken one is kInvalidArgument: the file, the tensor or offset, what was
  // found, what is allowed.
  static absl::StatusOr<SafetensorsFile> Parse(const std::string& file, std::string bytes);

  const std::string& path() const { return path_; }
  const Metadata& metadata() const { return header_.metadata; }
  std::span<const StoredTensor> tensors() const { return header_.tensors; }  // by place in the file

  // Of the tensors' names, types, shapes and bytes: equal for files that hold the same.
  std::string Digest() const;

  // Null if there is none.
  const StoredTensor* Find(std::string_view name) const;

  // The tensor that the caller needs. kInvalidArgument if it is missing or has another type or shape.
  absl::StatusOr<const StoredTensor*> Find(std::string_view name, DType dtype, std::span<const int64_t> shape) const;

  // The bytes of a tensor of this file. Not necessarily aligned for its type: other writers need not pad.
  std::span<const std::byte> Bytes(const StoredTensor& tensor) const;

  // The bytes of that tensor.
  absl::StatusOr<std::span<const std::byte>> Get(std::string_view name, DType dtype,
                                                 std::span<const int64_t> shape) const;

 private:
  friend class SafetensorsReader;

  SafetensorsFile(std::string path, Header header);
  static absl::StatusOr<SafetensorsFile> OfHeader(const std::string& file, std::string_view json, int64_t buffer);

  std::string path_;
  std::string bytes_;
  Header header_;
  size_t data_ = 0;                                     // where the buffer begins
  std::map<std::string, size_t, std::less<>> by_name_;  // index into header_.tensors
};

// Which tensors of a file are to be kept; null: all.
using TensorChoice = std::function<bool(const StoredTensor&)>;

// A file with only its header read and checked: the reader may refuse the tensors, whatever size the header claims,
// before memory is allocated for them. Damage to a plausible header is found only by Read.
class SafetensorsReader {
 public:
  static absl::StatusOr<SafetensorsReader> Open(const std::string& path, Links links = Links::kFollowed);

  // Without bytes: so Bytes, Get and Digest are not for it.
  const SafetensorsFile& header() const { return file_; }
  // Where the tensors begin in the file.
  int64_t data_begin() const { return data_begin_; }

  // The tensors, one behind the other in pieces. kInvalidArgument: the checksum of all is wrong. Once.
  using TakePiece = std::function<void(const StoredTensor& tensor, std::string_view piece)>;
  absl::Status ReadPieces(const TakePiece& take);

  // The rest; the result has the tensors that are wanted and no others. kInvalidArgument: the checksum of all tensors
  // is wrong. kResourceExhausted: there is not so much memory.
  absl::StatusOr<SafetensorsFile> Read(const TensorChoice& keep) &&;

 private:
  SafetensorsReader(InputFile input, SafetensorsFile file)
      : input_(std::move(input)), file_(std::move(file)), data_begin_(input_.size() - input_.rest()) {}
  absl::StatusOr<std::string> RoomFor(const TensorChoice& keep) const;

  InputFile input_;
  SafetensorsFile file_;
  int64_t data_begin_;
};

// The whole of a file.
absl::StatusOr<SafetensorsFile> LoadSafetensors(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SAFETENSORS_H_
