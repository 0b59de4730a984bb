// Reads a file in the wire format of protobuf field by field, without a schema and without holding it in memory: what
// is large in it, as the bytes of a tensor, is skipped and its place noted.
#ifndef PARTITA_IMPORTER_ONNX_WIRE_FILE_H_
#define PARTITA_IMPORTER_ONNX_WIRE_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/input_file.h"

namespace partita::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  int number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // unless kBytes
  int64_t end = 0;     // kBytes: where it ends; it begins at position()
};

// Errors are kInvalidArgument: bytes that are no such format, a field that ends behind the message around it.
class WireFile {
 public:
  static absl::StatusOr<WireFile> Open(const std::string& path);

  int64_t position() const { return position_; }
  int64_t size() const { return file_.size(); }

  // The next field of a message that ends at `end`, which lies behind position(). The caller reads or skips what a
  // field of kBytes holds before it asks for another.
  absl::StatusOr<WireField> Next(int64_t end);
  absl::StatusOr<uint64_t> Varint(int64_t end);
  absl::StatusOr<std::string> Bytes(int64_t end);  // up to there
  absl::Status SkipTo(int64_t end);

 private:
  explicit WireFile(InputFile file) : file_(std::move(file)) {}
  absl::Status Fill();
  absl::StatusOr<uint64_t> Fixed(int bytes, int64_t end);

  InputFile file_;
  std::string buffer_;
  size_t used_ = 0;  // of the buffer
  int64_t position_ = 0;
};

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_WIRE_FILE_H_
