#include "ops/host/grouped/taps.h"

namespace partita {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -CeilDivide(-a, b); }

// Which of the made pixels meet pixels with all columns.
void FindInside(TapColumns& taps) {
  taps.inside = {0, taps.made};
  for (const TapColumn& column : taps.columns) {
    const int64_t begin = -FloorDivide(column.offset, taps.step);
    const int64_t end = FloorDivide(taps.pixels - 1 - column.offset, taps.step) + 1;
    taps.inside = {Larger(taps.inside.begin, begin), Smaller(taps.inside.end, end)};
  }
  if (taps.inside.begin >= taps.inside.end) taps.inside = {0, 0};
}

}  // namespace

WindowLine RowsOf(const Convolution& conv) {
  const SlidingWindow& w = conv.window;
  return {w.kernel_h, w.stride_h, w.dilation_h, w.top, conv.images.h, conv.images.out_h};
}

WindowLine ColumnsOf(const Convolution& conv) {
  const SlidingWindow& w = conv.window;
  return {w.kernel_w, w.stride_w, w.dilation_w, w.left, conv.images.w, conv.images.out_w};
}

TapColumns OutputTaps(const WindowLine& line, const Convolution& conv) {
  TapColumns taps{{}, line.stride, line.seen, line.outputs, 1, conv.images.c, conv.group_c(), {}};
  for (int64_t q = 0; q < line.kernel; ++q) taps.columns.push_back({q, q * line.dilation - line.padding});
  FindInside(taps);
  return taps;
}

std::vector<TapColumns> SeenTaps(const WindowLine& line, const Convolution& conv) {
  std::vector<TapColumns> kinds;
  for (int64_t first = 0; first < line.stride; ++first) {
    const int64_t made = first < line.seen ? (line.seen - 1 - first) / line.stride + 1 : 0;
    TapColumns taps{{}, 1, line.outputs, made, line.stride, conv.images.c, conv.group_c(), {}};
    for (int64_t q = line.kernel - 1; q >= 0; --q) {
      const int64_t start = first + line.padding - q * line.dilation;
      if (FloorDivide(start, line.stride) * line.stride != start) continue;
      taps.columns.push_back({q, FloorDivide(start, line.stride)});
    }
    FindInside(taps);
    kinds.push_back(std::move(taps));
  }
  return kinds;
}

}  // namespace partita
