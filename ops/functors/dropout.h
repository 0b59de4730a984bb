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

// What decides which elements a node drops in a step.
struct DropoutStep {
  uint64_t key = 0, iteration = 0;
  uint32_t threshold = 0;
  double scale = 1;

  // x, or 0, of the element with this global index.
  template <typename T>
  PARTITA_HOST_DEVICE T Of(T x, uint64_t index) const {
    const PhiloxBlock words = RandomBlock(key, iteration, index / 4);
    const uint64_t lane = index % 4;  // without an index into registers, which would move them to memory
    const uint32_t first = lane == 0 ? words.lane[0] : words.lane[1];
    const uint32_t last = lane == 2 ? words.lane[2] : words.lane[3];
    return Dropout(x, lane < 2 ? first : last, threshold, static_cast<T>(scale));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_DROPOUT_H_
