// The IDX format of MNIST and its successors, plain or gzip'd:
//
//   byte 0, 1   zero
//   byte 2      element type: 0x08, unsigned byte, is the only one that images and labels use and that is read here
//   byte 3      number of dimensions, 1 to 4
//   then        each size as a big-endian u32
//   then        the elements in C order, and nothing behind them
//
// Every malformed file is kInvalidArgument: the file, the offset, what was found, what is allowed. No size is believed
// before it was compared with what the file can hold (of compressed data at most 1032 times its bytes), with 8 GiB and
// with the memory that is free (kResourceExhausted); and no more is read than the sizes promise.
#ifndef PARTITA_RUNTIME_DATA_IDX_H_
#define PARTITA_RUNTIME_DATA_IDX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct IdxArray {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

// `name` is for messages.
absl::StatusOr<IdxArray> ParseIdx(const std::string& name, std::string_view bytes);
absl::StatusOr<IdxArray> ReadIdx(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_IDX_H_
