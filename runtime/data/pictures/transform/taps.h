// The pixels of a line that an output pixel is made from, and their weights.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_TAPS_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_TAPS_H_

#include <cstdint>
#include <vector>

namespace partita {

inline constexpr int kTapBits = 14;

// Of one output pixel: weights[begin, begin + count) of the pixels first, first + 1, ..., in units of 2^-14; they sum
// to 2^14.
struct Tap {
  int32_t first = 0;
  int32_t count = 0;
  int32_t begin = 0;
};

struct Taps {
  std::vector<Tap> outputs;
  std::vector<int16_t> weights;

  int32_t first() const { return outputs.front().first; }                      // pixel that any output needs
  int32_t end() const { return outputs.back().first + outputs.back().count; }  // behind the last of them
};

// Of output pixels [begin, begin + count) of a line of `in` pixels that becomes one of `out`.
Taps TriangleTaps(int64_t in, int64_t out, int64_t begin, int64_t count);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TRANSFORM_TAPS_H_
