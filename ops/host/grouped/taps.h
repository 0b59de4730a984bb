// Which places of a convolution's window meet which pixels, along rows or columns.
#ifndef PARTITA_OPS_HOST_GROUPED_TAPS_H_
#define PARTITA_OPS_HOST_GROUPED_TAPS_H_

#include <cstdint>
#include <vector>

#include "ops/functors/geometry.h"
#include "ops/host/grouped/loops.h"

namespace partita {

// A direction of a convolution: `seen` pixels of x, of which windows see some, and `outputs` of y.
struct WindowLine {
  int64_t kernel, stride, dilation, padding, seen, outputs;
};
WindowLine RowsOf(const Convolution& conv);
WindowLine ColumnsOf(const Convolution& conv);

// How outputs are made of what their windows see: one kind of pixels.
TapColumns OutputTaps(const WindowLine& line, const Convolution& conv);

// How what windows see is made of the outputs that see it: a kind of pixels for each remainder by the stride, because
// only every stride-th place of a window meets an output.
std::vector<TapColumns> SeenTaps(const WindowLine& line, const Convolution& conv);

inline constexpr int64_t kMostTapRows = 32;

// Writes the rows that meet the m-th made one and returns how many: `pixel(row)` is the address of the first pixel of a
// row that is met, `width` the places in a row of the window, of which there are at most kMostTapRows rows.
template <typename T, typename F>
int64_t FindRows(const TapColumns& taps, int64_t m, int64_t width, const F& pixel, TapRow<T>* rows) {
  int64_t count = 0;
  for (const TapColumn& tap : taps.columns) {
    const int64_t row = m * taps.step + tap.offset;
    if (row >= 0 && row < taps.pixels) rows[count++] = {tap.place * width, pixel(row)};
  }
  return count;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_TAPS_H_
