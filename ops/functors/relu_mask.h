// A bit per element that says whether relu's gradient passes it; a gradient kernel reads this instead of the result,
// 1/32 of the bytes.
//
// Element c of a row is bit c % 8, counted from the lowest, of byte c / 8. A row takes a multiple of kMaskBits, as
// cuBLASLt requires of the masks of its epilogues; bits after the last element have no meaning.
#ifndef PARTITA_OPS_FUNCTORS_RELU_MASK_H_
#define PARTITA_OPS_FUNCTORS_RELU_MASK_H_

#include <cstdint>

#include "ops/functors/geometry.h"
#include "ops/functors/relu.h"
#include "runtime/base/philox.h"

namespace partita {

inline constexpr int64_t kMaskBits = 128;

// Bytes of a row.
PARTITA_HOST_DEVICE inline int64_t MaskBytes(int64_t channels) {
  return CeilDivide(channels, kMaskBits) * kMaskBits / 8;
}

// Byte `byte` of the mask of `row`, which has `channels` elements; bits behind them are 0.
template <typename Compute, typename T>
PARTITA_HOST_DEVICE inline uint8_t MaskByte(const T* row, int64_t channels, int64_t byte) {
  unsigned bits = 0;
  for (int64_t c = byte * 8; c < byte * 8 + 8 && c < channels; ++c) {
    const bool passes = Relu::Gradient(Compute(1), static_cast<Compute>(row[c])) != Compute(0);
    bits |= (passes ? 1U : 0U) << (c % 8);
  }
  return static_cast<uint8_t>(bits);
}

// Whether `row`, of a mask, has the bit of a channel.
PARTITA_HOST_DEVICE inline bool HasBit(const uint8_t* row, int64_t channel) {
  return (row[channel / 8] >> (channel % 8) & 1) != 0;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_RELU_MASK_H_
