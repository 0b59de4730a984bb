// The JSON header of a safetensors file, read strictly and written deterministically.
//
//   {"__metadata__":{"KEY":"TEXT",...},"NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}
//
// Reading refuses what the reference refuses and, beyond it, what leaves room for two meanings: duplicate keys, unknown
// fields, a metadata of null, anything before '{', anything but spaces behind '}'. So a file that we take the reference
// takes too, and it means the same there.
#ifndef PARTITA_RUNTIME_CHECKPOINT_HEADER_H_
#define PARTITA_RUNTIME_CHECKPOINT_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/checkpoint/stored_type.h"

namespace partita {

// Keys of ours in the metadata begin with kOwnKeys. A file that has any must have the checksum's (checksum.h).
inline constexpr char kOwnKeys[] = "partita.";
inline constexpr char kChecksumKey[] = "partita.xxh3";

// Where a tensor lies: bytes [begin, end) of the buffer behind the header, C order, little-endian.
struct StoredTensor {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;
};

// `file` is for messages. Checks the JSON and each entry by itself, not yet the sizes. Errors are kInvalidArgument and
// name the file, the tensor and the field, or the offset in the file; names are printed escaped.
absl::StatusOr<Header> ParseHeader(const std::string& file, std::string_view json);

// The JSON of a header, in the order of its tensors, no spaces, padded to a multiple of 8. kInvalidArgument: a name or
// text that is not UTF-8.
absl::StatusOr<std::string> FormatHeader(const std::string& file, const Header& header);

// A name from a file as it may be shown: quoted, control and non-ASCII characters escaped, long ones cut.
std::string Printable(std::string_view name);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_HEADER_H_
