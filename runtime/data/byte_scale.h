// The scaling of bytes to floating-point fields.
#ifndef PARTITA_RUNTIME_DATA_BYTE_SCALE_H_
#define PARTITA_RUNTIME_DATA_BYTE_SCALE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

// byte x scale, or (byte / 255 - mean) / deviation with one number of each for every size of the last dimension, or one
// for all. Unset: byte / 255, or the scaling that a loaded model was trained with.
struct ByteScale {
  std::optional<double> scale = {};
  std::vector<double> mean = {}, deviation = {};

  bool given() const { return scale || !mean.empty() || !deviation.empty(); }
  bool operator==(const ByteScale&) const = default;
};

// By field.
using ByteScales = std::map<std::string, ByteScale>;

// byte / 255, as a mean of 0 and a deviation of 1.
ByteScale PlainBytes();

// kInvalidArgument unless it is one of the two forms, of finite numbers, deviations above 0, and of means one, or as
// many as `places`.
absl::Status CheckByteScale(const ByteScale& scale, size_t places);

// The number for each byte: value[place * 256 + byte], of one place or as many as there are means. The scale was
// checked.
std::vector<double> TableOf(const ByteScale& scale);

// "byte x 0.5", "(byte / 255 - 0.1,0.2) / 0.3,0.4"
std::string ToString(const ByteScale& scale);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_BYTE_SCALE_H_
