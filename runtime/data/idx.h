// The IDX format of MNIST and its successors, plain or gzip'd:
//
//   byte 0, 1   zero
//   byte 2      element type: 0x08 u8, 0x09 i8, 0x0B i16, 0x0C i32, 0x0D f32, 0x0E f64
//   byte 3      number of dimensions, 1 to 8
//   then        each size as a big-endian u32
//   then        the elements in C order, big-endian, and nothing behind them
//
// Every malformed file is kInvalidArgument: the file, the offset, what was found, what is allowed. No size is trusted
// before it is compared with what the file can hold (of compressed data at most 1032 times its bytes), with 8 GiB and
// with the memory that is free (kResourceExhausted); and no more is read than the sizes promise.
#ifndef PARTITA_RUNTIME_DATA_IDX_H_
#define PARTITA_RUNTIME_DATA_IDX_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/data/array.h"

namespace partita {

// `name` is for messages.
absl::StatusOr<Array> ParseIdx(const std::string& name, std::string_view bytes);
absl::StatusOr<Array> ReadIdx(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IDX_H_
