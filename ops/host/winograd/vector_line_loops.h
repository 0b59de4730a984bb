// The loops of line_loops.h, for the files that include vector_loops.h and this after it.
#ifndef PARTITA_OPS_HOST_WINOGRAD_VECTOR_LINE_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_VECTOR_LINE_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/winograd/line_loops.h"
#include "ops/host/winograd/vector_loops.h"

#define PARTITA_INLINED PARTITA_VECTORS inline __attribute__((always_inline))

namespace partita {
namespace {

// B^T d; without the sixth pixel also without the sixth point.
template <int kPoints>
PARTITA_INLINED void TimesLineB(const Vector (&d)[kPoints], Vector (&to)[kPoints]) {
  const Vector even = d[4] - d[2], odd = d[3] - d[1];
  to[0] = (d[0] - d[2]) + even - odd * 1.5f;
  to[1] = (d[4] - d[3] * 0.5f) - (d[1] + d[2] * 2.5f);
  to[2] = (d[4] - d[3] * 2.5f) + (d[1] + d[2] * 0.5f);
  to[3] = even + odd * 0.5f;
  to[4] = even - odd * 2.0f;
  if constexpr (kPoints == 6) to[5] = (d[5] - d[3]) - odd - even * 1.5f;
}

// The values of the polynomial with coefficients v at the five finite points.
template <int kPoints>
PARTITA_INLINED void Evaluate(const Vector (&v)[4], Vector (&at)[kPoints]) {
  const Vector even = v[0] + v[2], odd = v[1] + v[3];
  at[0] = v[0];
  at[1] = even + odd;
  at[2] = even - odd;
  at[3] = (v[0] + v[2] * 4.0f) + (v[1] * 2.0f + v[3] * 8.0f);
  at[4] = (v[0] + v[2] * 0.25f) - (v[1] * 0.5f + v[3] * 0.125f);
}

// The adjoint of Evaluate.
PARTITA_INLINED void Collect(const Vector (&at)[5], Vector (&v)[4]) {
  const Vector even = at[1] + at[2], odd = at[1] - at[2];
  v[0] = at[0] + even + (at[3] + at[4]);
  v[1] = odd + (at[3] * 2.0f - at[4] * 0.5f);
  v[2] = even + (at[3] * 4.0f + at[4] * 0.25f);
  v[3] = odd + (at[3] * 8.0f - at[4] * 0.125f);
}

// 1 / N of the five finite points.
constexpr float kOfPoint[5] = {1.0f, -1.0f / 3, 1.0f / 3, 1.0f / 15, -16.0f / 15};

// The points [kBegin, kEnd); only the last one reads the sixth pixel.
template <int kBegin, int kEnd>
PARTITA_VECTORS void TransformLinePixels(const float* const* pixels, int64_t channels, float* to, int64_t stride) {
  constexpr int kPixels = kEnd < 6 ? 5 : 6;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector d[kPixels], points[kPixels];
    for (int i = 0; i < kPixels; ++i) d[i] = At(pixels[i] + at);
    TimesLineB(d, points);
    for (int i = kBegin; i < kEnd; ++i) At(to + (i - kBegin) * stride + at) = points[i];
  }
}

PARTITA_VECTORS void TransformLinePixels(const float* const* pixels, int64_t begin, int64_t end, int64_t channels,
                                         float* to, int64_t stride) {
  using Transform = decltype(&TransformLinePixels<0, 6>);
  constexpr Transform kOne[] = {TransformLinePixels<0, 1>, TransformLinePixels<1, 2>, TransformLinePixels<2, 3>,
                                TransformLinePixels<3, 4>, TransformLinePixels<4, 5>, TransformLinePixels<5, 6>};
  const Transform transform = end - begin == 1 ? kOne[begin]
                              : end == 6       ? TransformLinePixels<0, 6>
                                               : TransformLinePixels<0, 5>;
  transform(pixels, channels, to, stride);
}

template <int kMade, int kBegin, int kEnd>
PARTITA_VECTORS void TransformLineOutputs(const float* const* outputs, int64_t channels, float* to, int64_t stride) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector y[4] = {}, points[6];
    for (int i = 0; i < kMade; ++i) y[i] = At(outputs[i] + at);
    Evaluate(y, points);
    points[5] = y[kMade - 1];
    for (int i = kBegin; i < kEnd; ++i) At(to + (i - kBegin) * stride + at) = points[i];
  }
}

template <int kMade>
PARTITA_VECTORS void TransformLineOutputs(const float* const* outputs, int64_t begin, int64_t end, int64_t channels,
                                          float* to, int64_t stride) {
  using Transform = decltype(&TransformLineOutputs<kMade, 0, 6>);
  constexpr Transform kOne[] = {TransformLineOutputs<kMade, 0, 1>, TransformLineOutputs<kMade, 1, 2>,
                                TransformLineOutputs<kMade, 2, 3>, TransformLineOutputs<kMade, 3, 4>,
                                TransformLineOutputs<kMade, 4, 5>, TransformLineOutputs<kMade, 5, 6>};
  (end - begin == 1 ? kOne[begin] : TransformLineOutputs<kMade, 0, 6>)(outputs, channels, to, stride);
}

PARTITA_VECTORS void TransformLineOutputs(const float* const* outputs, int64_t made, int64_t begin, int64_t end,
                                          int64_t channels, float* to, int64_t stride) {
  (made == 4 ? TransformLineOutputs<4> : TransformLineOutputs<3>)(outputs, begin, end, channels, to, stride);
}

template <int kMade>
PARTITA_VECTORS void MakeLineOutputs(const float* from, int64_t stride, int64_t channels,
                                     const WinogradEpilogue& epilogue, float* const* outputs) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector points[5], y[4];
    for (int i = 0; i < 5; ++i) points[i] = At(from + i * stride + at);
    Collect(points, y);
    y[kMade - 1] += At(from + 5 * stride + at);
    for (int i = 0; i < kMade; ++i) {
      if (outputs[i] != nullptr) At(outputs[i] + at) = Finished(y[i], epilogue, at);
    }
  }
}

PARTITA_VECTORS void MakeLineOutputs(const float* from, int64_t stride, int64_t made, int64_t channels,
                                     const WinogradEpilogue& epilogue, float* const* outputs) {
  (made == 4 ? MakeLineOutputs<4> : MakeLineOutputs<3>)(from, stride, channels, epilogue, outputs);
}

// G g of a vector of channels; `g` is the first tap.
PARTITA_INLINED void TransformPiece(const float* g, int64_t tap_step, const LinePiece& piece, float* to,
                                    int64_t stride) {
  Vector taps[4] = {}, points[5];
  for (int64_t i = 0; i < piece.taps; ++i) taps[i] = At(g + i * tap_step);
  Evaluate(taps, points);
  for (int i = 0; i < 5; ++i) At(to + i * stride) = points[i] * kOfPoint[i];
  if (piece.points == 6) At(to + 5 * stride) = At(g + (piece.taps - 1) * tap_step);
}

PARTITA_VECTORS void TransformLineFilters(const float* w, int64_t filter_step, int64_t tap_step, const LinePiece& piece,
                                          int64_t filters, int64_t channels, int64_t filter, float* to,
                                          int64_t stride) {
  const WinogradPanels panels{channels, filters, kLanes};
  int64_t panel = 0;
  while (filter >= panel + panels.Width(panel)) panel += panels.Width(panel);
  const int64_t width = panels.Width(panel), count = std::min<int64_t>(kLanes, filters - filter);
  float points[kLinePoints][kLanes][kLanes] = {};
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    for (int64_t k = 0; k < count; ++k) {
      TransformPiece(w + (filter + k) * filter_step + at, tap_step, piece, points[0][k], kLanes * kLanes);
    }
    for (int64_t p = 0; p < piece.points; ++p) {
      Vector rows[kLanes];
      for (int i = 0; i < kLanes; ++i) rows[i] = At(points[p][i]);
      Transpose(rows);
      float* const out = to + p * stride + panel * channels + at * width + (filter - panel);
      for (int i = 0; i < kLanes; ++i) At(out + i * width) = rows[i];
    }
  }
}

PARTITA_VECTORS void TransformLineRow(const float* w, int64_t tap_step, const LinePiece& piece, int64_t filters,
                                      int64_t channels, int64_t filter, float* to, int64_t stride) {
  const WinogradPanels panels{filters, channels, kLanes};
  for (int64_t panel = 0; panel < channels;) {
    const int64_t width = panels.Width(panel), used = std::min(width, channels - panel);
    float* const out = to + panel * filters + filter * width;
    for (int64_t p = 0; p < piece.points; ++p) std::fill(out + p * stride + used, out + p * stride + width, 0.0f);
    for (int64_t c = 0; c < used; c += kLanes) {
      const int64_t at = Begin(c, used);
      TransformPiece(w + panel + at, tap_step, piece, out + at, stride);
    }
    panel += width;
  }
}

PARTITA_VECTORS void MakeLineFilter(const float* from, int64_t parts, int64_t part_stride, int64_t stride,
                                    int64_t channels, int64_t tap_step, const LinePiece& piece, float* dw) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector points[6] = {}, scaled[5], taps[4];
    for (int64_t part = 0; part < parts; ++part) {
      const float* const point = from + part * part_stride + at;
      for (int i = 0; i < 5; ++i) points[i] += At(point + i * stride);
      if (piece.points == 6) points[5] += At(point + 5 * stride);
    }
    for (int i = 0; i < 5; ++i) scaled[i] = points[i] * kOfPoint[i];
    Collect(scaled, taps);
    if (piece.points == 6) taps[piece.taps - 1] += points[5];
    for (int64_t i = 0; i < piece.taps; ++i) At(dw + i * tap_step + at) = taps[i];
  }
}

// Each sum has this number of products before it is added to the previous sums. That rounds less, and the panel stays
// in the L1 cache.
constexpr int64_t kDepthOfSum = 96;

template <int kTileRows, int kVectors>
PARTITA_VECTORS int64_t MultiplyLineTiles(int64_t row, int64_t rows, int64_t depth, const float* left,
                                          int64_t left_stride, const float* panel, bool add, float* sums) {
  constexpr int64_t kWidth = kVectors * kLanes;
  for (; row + kTileRows <= rows; row += kTileRows) {
    Tile<kTileRows, kVectors>(depth, left + row * left_stride, left_stride, 1, panel, kWidth, add, sums + row * kWidth,
                              kWidth);
  }
  return row;
}

template <int kVectors>
PARTITA_VECTORS void MultiplyLinePanel(int64_t rows, int64_t depth, const float* left, const float* panel, bool add,
                                       float* sums) {
  constexpr int kTileRows = kRows[kVectors - 1];
  for (int64_t k = 0; k < depth; k += kDepthOfSum) {
    const int64_t part = std::min(kDepthOfSum, depth - k);
    const float* const from = panel + k * kVectors * kLanes;
    int64_t row = MultiplyLineTiles<kTileRows, kVectors>(0, rows, part, left + k, depth, from, add || k > 0, sums);
    row = MultiplyLineTiles<4, kVectors>(row, rows, part, left + k, depth, from, add || k > 0, sums);
    row = MultiplyLineTiles<2, kVectors>(row, rows, part, left + k, depth, from, add || k > 0, sums);
    MultiplyLineTiles<1, kVectors>(row, rows, part, left + k, depth, from, add || k > 0, sums);
  }
}

PARTITA_VECTORS void MultiplyLines(int64_t rows, int64_t depth, const float* left, const float* panel, int64_t width,
                                   bool add, float* sums) {
  const auto multiply = width == 3 * kLanes   ? MultiplyLinePanel<3>
                        : width == 2 * kLanes ? MultiplyLinePanel<2>
                                              : MultiplyLinePanel<1>;
  multiply(rows, depth, left, panel, add, sums);
}

constexpr LineLoops LineLoopsNamed(const char* name) {
  return {name,
          kLanes,
          TransformLinePixels,
          TransformLineOutputs,
          MakeLineOutputs,
          TransformLineFilters,
          TransformLineRow,
          MakeLineFilter,
          MultiplyLines,
          AddProducts};
}

}  // namespace
}  // namespace partita

#undef PARTITA_INLINED

#endif  // PARTITA_OPS_HOST_WINOGRAD_VECTOR_LINE_LOOPS_H_
