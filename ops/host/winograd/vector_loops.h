// The loops of loops.h, for the file that includes this, which says what vectors they are made of: PARTITA_VECTORS
// is their target, kLanes their floats, and of the sums that fill their registers kRows[v - 1] are rows where v are
// vectors.
#ifndef PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/winograd/loops.h"
#include "ops/host/winograd/vector_transforms.h"

namespace partita {
namespace {

PARTITA_INLINED const Vector& At(const float* from) { return *reinterpret_cast<const Vector*>(from); }
PARTITA_INLINED Vector& At(float* to) { return *reinterpret_cast<Vector*>(to); }

// The last vector of a row begins before its place, if it would end behind the row.
PARTITA_INLINED int64_t Begin(int64_t c, int64_t channels) { return std::min(c, channels - kLanes); }

template <int kSide>
PARTITA_VECTORS void TransformPixels(const float* const* pixels, int64_t channels, float* to, int64_t stride) {
  constexpr int kSeen = kSide + 2;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector columns[kSeen][kSeen];
#pragma GCC unroll 6
    for (int j = 0; j < kSeen; ++j) {
      Vector column[kSeen];
#pragma GCC unroll 6
      for (int i = 0; i < kSeen; ++i) column[i] = At(pixels[kSeen * i + j] + at);
      TimesB(column, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSeen; ++i) {
      Vector row[kSeen], points[kSeen];
#pragma GCC unroll 6
      for (int j = 0; j < kSeen; ++j) row[j] = columns[j][i];
      TimesB(row, points);
#pragma GCC unroll 6
      for (int j = 0; j < kSeen; ++j) At(to + (kSeen * i + j) * stride + at) = points[j];
    }
  }
}

template <int kSide>
PARTITA_VECTORS void TransformOutputs(const float* const* outputs, int64_t channels, float* to, int64_t stride) {
  constexpr int kSeen = kSide + 2;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector columns[kSide][kSeen];
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) {
      Vector column[kSide];
#pragma GCC unroll 6
      for (int i = 0; i < kSide; ++i) column[i] = At(outputs[kSide * i + j] + at);
      TimesA(column, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSeen; ++i) {
      Vector row[kSide], points[kSeen];
#pragma GCC unroll 6
      for (int j = 0; j < kSide; ++j) row[j] = columns[j][i];
      TimesA(row, points);
#pragma GCC unroll 6
      for (int j = 0; j < kSeen; ++j) At(to + (kSeen * i + j) * stride + at) = points[j];
    }
  }
}

PARTITA_INLINED Vector Finished(Vector y, const WinogradEpilogue& epilogue, int64_t channel) {
  if (epilogue.bias != nullptr) y += At(epilogue.bias + channel);
  return epilogue.relu ? (y < 0.0f ? Vector{} : y) : y;  // a NaN stays one
}

template <int kSide>
PARTITA_VECTORS void MakeOutputs(const float* from, int64_t stride, int64_t channels, const WinogradEpilogue& epilogue,
                                 float* const* outputs) {
  constexpr int kSeen = kSide + 2;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector columns[kSeen][kSide];
#pragma GCC unroll 6
    for (int j = 0; j < kSeen; ++j) {
      Vector column[kSeen];
#pragma GCC unroll 6
      for (int i = 0; i < kSeen; ++i) column[i] = At(from + (kSeen * i + j) * stride + at);
      TimesTransposedA(column, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSide; ++i) {
      Vector row[kSeen], y[kSide];
#pragma GCC unroll 6
      for (int j = 0; j < kSeen; ++j) row[j] = columns[j][i];
      TimesTransposedA(row, y);
#pragma GCC unroll 6
      for (int j = 0; j < kSide; ++j) {
        float* const output = outputs[kSide * i + j];
        if (output != nullptr) At(output + at) = Finished(y[j], epilogue, at);
      }
    }
  }
}

// G g G^T of a vector of channels; `g` is the filter's first place, `next` the distance to the next, which may be
// negative.
template <int kSide>
PARTITA_INLINED void TransformFilter(const float* g, int64_t next, float* to, int64_t stride) {
  constexpr int kSeen = kSide + 2;
  Vector columns[3][kSeen];
#pragma GCC unroll 6
  for (int q = 0; q < 3; ++q) {
    const Vector column[3] = {At(g + q * next), At(g + (3 + q) * next), At(g + (6 + q) * next)};
    TimesG(column, columns[q]);
  }
#pragma GCC unroll 6
  for (int i = 0; i < kSeen; ++i) {
    const Vector row[3] = {columns[0][i], columns[1][i], columns[2][i]};
    Vector points[kSeen];
    TimesG(row, points);
#pragma GCC unroll 6
    for (int j = 0; j < kSeen; ++j) At(to + (kSeen * i + j) * stride) = points[j];
  }
}

// Rows become columns: in each round all pairs of blocks of `half` x `half` beside the diagonal change places.
PARTITA_INLINED void Transpose(Vector (&rows)[kLanes]) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
    Places first, second;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      const bool right = (i & half) != 0;
      first[i] = right ? kLanes + i - half : i;
      second[i] = right ? kLanes + i : i + half;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & half) != 0) continue;
      const Vector a = rows[i], b = rows[i + half];
      rows[i] = __builtin_shuffle(a, b, first);
      rows[i + half] = __builtin_shuffle(a, b, second);
    }
  }
}

template <int kSide>
PARTITA_VECTORS void TransformFilters(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                      int64_t stride) {
  const WinogradPanels panels{channels, filters, kLanes};
  int64_t panel = 0;
  while (filter >= panel + panels.Width(panel)) panel += panels.Width(panel);
  const int64_t width = panels.Width(panel), count = std::min<int64_t>(kLanes, filters - filter);
  constexpr int64_t kPoints = (kSide + 2) * (kSide + 2);
  float points[kPoints][kLanes][kLanes] = {};
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    for (int64_t k = 0; k < count; ++k) {
      TransformFilter<kSide>(w + (filter + k) * 9 * channels + at, channels, points[0][k], kLanes * kLanes);
    }
    for (int64_t p = 0; p < kPoints; ++p) {
      Vector rows[kLanes];
      for (int i = 0; i < kLanes; ++i) rows[i] = At(points[p][i]);
      Transpose(rows);
      float* const out = to + p * stride + panel * channels + at * width + (filter - panel);
      for (int i = 0; i < kLanes; ++i) At(out + i * width) = rows[i];
    }
  }
}

template <int kSide>
PARTITA_VECTORS void TransformTurnedFilter(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                           int64_t stride) {
  const WinogradPanels panels{filters, channels, kLanes};
  constexpr int64_t kPoints = (kSide + 2) * (kSide + 2);
  const float* const last = w + (filter * 9 + 8) * channels;
  for (int64_t panel = 0; panel < channels;) {
    const int64_t width = panels.Width(panel), used = std::min(width, channels - panel);
    float* const out = to + panel * filters + filter * width;
    for (int64_t p = 0; p < kPoints; ++p) std::fill(out + p * stride + used, out + p * stride + width, 0.0f);
    for (int64_t c = 0; c < used; c += kLanes) {
      const int64_t at = Begin(c, used);
      TransformFilter<kSide>(last + panel + at, -channels, out + at, stride);
    }
    panel += width;
  }
}

template <int kSide>
PARTITA_VECTORS void MakeFilter(const WinogradSums& sums, int64_t channels, int64_t filter, float* dw) {
  constexpr int kSeen = kSide + 2;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector columns[kSeen][3];
    for (int j = 0; j < kSeen; ++j) {
      Vector column[kSeen];
#pragma GCC unroll 6
      for (int i = 0; i < kSeen; ++i) {
        const float* const point = sums.from + (kSeen * i + j) * sums.stride + filter * sums.width + at;
        column[i] = At(point);
        for (int64_t part = 1; part < sums.parts; ++part) column[i] += At(point + part * sums.part_stride);
      }
      TimesTransposedG(column, columns[j]);
    }
    for (int p = 0; p < 3; ++p) {
      Vector row[kSeen], taps[3];
#pragma GCC unroll 6
      for (int j = 0; j < kSeen; ++j) row[j] = columns[j][p];
      TimesTransposedG(row, taps);
      for (int q = 0; q < 3; ++q) At(dw + ((filter * 3 + p) * 3 + q) * channels + at) = taps[q];
    }
  }
}

// A tile of sums in registers: of row r and depth k the left operand lies at r * across + k * along, of k the vectors
// of the right one at k * step.
template <int kTileRows, int kVectors>
PARTITA_INLINED void Tile(int64_t depth, const float* left, int64_t across, int64_t along, const float* right,
                          int64_t step, bool add, float* sums, int64_t stride) {
  Vector sum[kTileRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k, left += along, right += step) {
    Vector columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = At(right + v * kLanes);
    for (int r = 0; r < kTileRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] += columns[v] * left[r * across];
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      Vector& to = At(sums + r * stride + v * kLanes);
      to = add ? to + sum[r][v] : sum[r][v];
    }
  }
}

template <int kTileRows, int kVectors>
PARTITA_VECTORS int64_t MultiplyTiles(int64_t row, int64_t rows, int64_t depth, const float* left, const float* panel,
                                      float* sums, int64_t stride) {
  for (; row + kTileRows <= rows; row += kTileRows) {
    Tile<kTileRows, kVectors>(depth, left + row * depth, depth, 1, panel, kVectors * kLanes, false, sums + row * stride,
                              stride);
  }
  return row;
}

template <int kVectors>
PARTITA_VECTORS void MultiplyPanel(int64_t rows, int64_t depth, const float* left, const float* panel, float* sums,
                                   int64_t stride) {
  int64_t row = MultiplyTiles<kRows[kVectors - 1], kVectors>(0, rows, depth, left, panel, sums, stride);
  row = MultiplyTiles<4, kVectors>(row, rows, depth, left, panel, sums, stride);
  MultiplyTiles<1, kVectors>(row, rows, depth, left, panel, sums, stride);
}

PARTITA_VECTORS void Multiply(int64_t rows, int64_t depth, const float* left, const float* panel, int64_t width,
                              float* sums, int64_t stride) {
  const auto multiply = width == 3 * kLanes   ? MultiplyPanel<3>
                        : width == 2 * kLanes ? MultiplyPanel<2>
                                              : MultiplyPanel<1>;
  multiply(rows, depth, left, panel, sums, stride);
}

// Each sum has this number of products before it is added to the previous sums, which rounds less than one long sum.
constexpr int64_t kProductsOfSum = 32;

template <int kTileRows, int kVectors>
PARTITA_VECTORS int64_t AddTiles(int64_t column, int64_t rows, const float* left, int64_t left_stride,
                                 int64_t left_columns, const float* right, int64_t right_stride, bool add, float* sums,
                                 int64_t stride) {
  for (; column + kTileRows <= left_columns; column += kTileRows) {
    for (int64_t row = 0; row < rows; row += kProductsOfSum) {
      Tile<kTileRows, kVectors>(std::min(kProductsOfSum, rows - row), left + row * left_stride + column, 1, left_stride,
                                right + row * right_stride, right_stride, add || row > 0, sums + column * stride,
                                stride);
    }
  }
  return column;
}

template <int kVectors>
PARTITA_VECTORS void AddPanel(int64_t rows, const float* left, int64_t left_stride, int64_t left_columns,
                              const float* right, int64_t right_stride, bool add, float* sums, int64_t stride) {
  int64_t column = AddTiles<kRows[kVectors - 1], kVectors>(0, rows, left, left_stride, left_columns, right,
                                                           right_stride, add, sums, stride);
  column = AddTiles<4, kVectors>(column, rows, left, left_stride, left_columns, right, right_stride, add, sums, stride);
  AddTiles<1, kVectors>(column, rows, left, left_stride, left_columns, right, right_stride, add, sums, stride);
}

PARTITA_VECTORS void AddProducts(int64_t rows, const float* left, int64_t left_stride, int64_t left_columns,
                                 const float* right, int64_t right_stride, int64_t width, bool add, float* sums,
                                 int64_t stride) {
  const auto multiply = width == 3 * kLanes ? AddPanel<3> : width == 2 * kLanes ? AddPanel<2> : AddPanel<1>;
  multiply(rows, left, left_stride, left_columns, right, right_stride, add, sums, stride);
}

template <int kSide>
constexpr WinogradLoops LoopsOfTiles(const char* name) {
  return {name,
          kLanes,
          kSide,
          TransformPixels<kSide>,
          TransformOutputs<kSide>,
          MakeOutputs<kSide>,
          TransformFilters<kSide>,
          TransformTurnedFilter<kSide>,
          MakeFilter<kSide>,
          Multiply,
          AddProducts};
}

}  // namespace
}  // namespace partita

#undef PARTITA_INLINED

#endif  // PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_
