// Common functions of readers of array files: reading bytes that must exist, and elements of claimed sizes.
//
// Errors are kInvalidArgument and name the file and the offset in its uncompressed data; kResourceExhausted: there is
// not so much memory. No size is believed before it was compared with what the stream can hold and with the memory that
// is free.
#ifndef PARTITA_RUNTIME_DATA_READ_ARRAY_H_
#define PARTITA_RUNTIME_DATA_READ_ARRAY_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/array.h"
#include "runtime/data/byte_stream.h"

namespace partita {

// Fills `out` with the bytes at `offset`, which are `what` ("a size").
absl::Status ReadExactly(ByteStream& stream, std::span<uint8_t> out, const std::string& name, int64_t offset,
                         const char* what);

// The elements of `array`, whose type and sizes are known, from `offset` to the end of the stream. `sizes_offset`:
// where the sizes stand. At most `limit` bytes.
absl::Status ReadElements(ByteStream& stream, const std::string& name, int64_t sizes_offset, int64_t offset,
                          int64_t limit, Array& array);

// From the other byte order to this machine's.
void TurnElements(Array& array);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_READ_ARRAY_H_
