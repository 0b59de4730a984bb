// The bytes of a data file one after the other, plain or gzip'd (identified by its first two bytes, not by its name).
//
// Thread-compatible. Errors are kInvalidArgument and name the file and the offset in the uncompressed data.
#ifndef PARTITA_RUNTIME_DATA_BYTE_STREAM_H_
#define PARTITA_RUNTIME_DATA_BYTE_STREAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills `out` from the front; returns how many bytes, fewer than asked for only at the end of the data.
  virtual absl::StatusOr<int64_t> Read(std::span<uint8_t> out) = 0;

  // No more than this many bytes can still come: to be asked before memory is allocated for a size that a file claims.
  // Exact for plain data; for compressed data the most that deflate can make of what is left (1032 to 1).
  virtual int64_t UpperBound() const = 0;
};

// `bytes` must outlive the stream; `name` is for messages. A .gz of several members is their concatenation.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenByteStream(const std::string& name, std::string_view bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_BYTE_STREAM_H_
