// Bytes of pictures as numbers: (byte / 255 - mean) / deviation, by channel.
#ifndef PARTITA_OPS_FUNCTORS_PIXELS_H_
#define PARTITA_OPS_FUNCTORS_PIXELS_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// A launch carries all of them in its arguments; a GPU accepts 4 KiB of arguments.
inline constexpr int64_t kMostPixelChannels = 128;

// Of the channels of a rank's block, which are the last dimension; or of one that is all of them.
struct PixelScale {
  int64_t channels = 1;
  double mean[kMostPixelChannels] = {};
  double deviation[kMostPixelChannels] = {};
};

// In f64, as on the host that measured both, and rounded once: there is no product here that could be fused.
template <typename T>
PARTITA_HOST_DEVICE inline T PixelValue(uint8_t byte, double mean, double deviation) {
  return static_cast<T>((byte / 255.0 - mean) / deviation);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_PIXELS_H_
