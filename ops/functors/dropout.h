// Dropout: an element is kept if its uniform number (runtime/base/philox.h) is at least `rate`, and scaled by
// 1 / (1 - rate). The comparison is made on the 24 bits the uniform comes from, so f32 and f64 keep the same elements.
#ifndef PARTITA_OPS_FUNCTORS_DROPOUT_H_
#define PARTITA_OPS_FUNCTORS_DROPOUT_H_

#include <cmath>
#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

// The smallest 24-bit number that is kept: u / 2^24 >= rate is u >= ceil(rate * 2^24).
PARTITA_HOST_DEVICE inline uint32_t DropoutThreshold(double rate) {
  return static_cast<uint32_t>(std::ceil(rate * 16777216.0));
}

// `word` is the element's random word.
template <typename T>
PARTITA_HOST_DEVICE inline T Dropout(T x, uint32_t word, uint32_t threshold, T scale) {
  return (word >> 8) >= threshold ? x * scale : T(0);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_DROPOUT_H_
