// The loops of loops.h, for the file that includes this, which says what vectors they are made of: PARTITA_VECTORS
// is their target, kLanes their floats, and of the sums that fill their registers kRows[v - 1] are rows where v are
// vectors.
//
// Not by target_clones: gcc 12 takes vectors apart before it clones, and before it inlines what has no target.
#ifndef PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/winograd/loops.h"

#define PARTITA_INLINED PARTITA_VECTORS inline __attribute__((always_inline))

namespace partita {
namespace {

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int32_t Places __attribute__((vector_size(kLanes * sizeof(float))));

PARTITA_INLINED const Vector& At(const float* from) { return *reinterpret_cast<const Vector*>(from); }
PARTITA_INLINED Vector& At(float* to) { return *reinterpret_cast<Vector*>(to); }

// The last vector of a row begins before its place, if it would end behind the row.
PARTITA_INLINED int64_t Begin(int64_t c, int64_t channels) { return std::min(c, channels - kLanes); }

PARTITA_INLINED void TimesB(const Vector (&d)[4], Vector (&to)[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[3] - d[1];
}

PARTITA_VECTORS void TransformPixels(const float* const* pixels, int64_t channels, float* to, int64_t stride) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector columns[4][4];
    for (int j = 0; j < 4; ++j) {
      const Vector d[4] = {At(pixels[j] + at), At(pixels[4 + j] + at), At(pixels[8 + j] + at), At(pixels[12 + j] + at)};
      TimesB(d, columns[j]);
    }
    for (int i = 0; i < 4; ++i) {
      const Vector d[4] = {columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
      Vector points[4];
      TimesB(d, points);
      for (int j = 0; j < 4; ++j) At(to + (4 * i + j) * stride + at) = points[j];
    }
  }
}

PARTITA_VECTORS void TransformOutputs(const float* const* outputs, int64_t channels, float* to, int64_t stride) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    const Vector y[4] = {At(outputs[0] + at), At(outputs[1] + at), At(outputs[2] + at), At(outputs[3] + at)};
    const Vector rows[4][2] = {{y[0], y[1]}, {y[0] + y[2], y[1] + y[3]}, {y[0] - y[2], y[1] - y[3]}, {y[2], y[3]}};
    for (int i = 0; i < 4; ++i) {
      float* const point = to + 4 * i * stride + at;
      At(point) = rows[i][0];
      At(point + stride) = rows[i][0] + rows[i][1];
      At(point + 2 * stride) = rows[i][0] - rows[i][1];
      At(point + 3 * stride) = rows[i][1];
    }
  }
}

PARTITA_INLINED Vector Finished(Vector y, const WinogradEpilogue& epilogue, int64_t channel) {
  if (epilogue.bias != nullptr) y += At(epilogue.bias + channel);
  return epilogue.relu ? (y < 0.0f ? Vector{} : y) : y;  // a NaN stays one
}

PARTITA_VECTORS void MakeOutputs(const float* from, int64_t stride, int64_t channels, const WinogradEpilogue& epilogue,
                                 float* const* outputs) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    Vector above[4], below[4];
    for (int j = 0; j < 4; ++j) {
      const float* const point = from + j * stride + at;
      const Vector second = At(point + 4 * stride), third = At(point + 8 * stride);
      above[j] = At(point) + (second + third);
      below[j] = At(point + 12 * stride) + (second - third);
    }
    const Vector y[4] = {above[0] + (above[1] + above[2]), above[3] + (above[1] - above[2]),
                         below[0] + (below[1] + below[2]), below[3] + (below[1] - below[2])};
    for (int i = 0; i < 4; ++i) {
      if (outputs[i] != nullptr) At(outputs[i] + at) = Finished(y[i], epilogue, at);
    }
  }
}

PARTITA_INLINED void TimesG(const Vector (&g)[3], Vector (&to)[4]) {
  const Vector ends = (g[0] + g[2]) * 0.5f, middle = g[1] * 0.5f;
  to[0] = g[0];
  to[1] = ends + middle;
  to[2] = ends - middle;
  to[3] = g[2];
}

// G g G^T of a vector of channels; `g` is the filter's first place, `next` the distance to the next, which may be
// negative.
PARTITA_INLINED void TransformFilter(const float* g, int64_t next, float* to, int64_t stride) {
  Vector columns[3][4];
  for (int q = 0; q < 3; ++q) {
    const Vector column[3] = {At(g + q * next), At(g + (3 + q) * next), At(g + (6 + q) * next)};
    TimesG(column, columns[q]);
  }
  for (int i = 0; i < 4; ++i) {
    const Vector row[3] = {columns[0][i], columns[1][i], columns[2][i]};
    Vector points[4];
    TimesG(row, points);
    for (int j = 0; j < 4; ++j) At(to + (4 * i + j) * stride) = points[j];
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

PARTITA_VECTORS void TransformFilters(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                      int64_t stride) {
  const WinogradPanels panels{channels, filters, kLanes};
  int64_t panel = 0;
  while (filter >= panel + panels.Width(panel)) panel += panels.Width(panel);
  const int64_t width = panels.Width(panel), count = std::min<int64_t>(kLanes, filters - filter);
  float points[kWinogradPoints][kLanes][kLanes] = {};
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = Begin(c, channels);
    for (int64_t k = 0; k < count; ++k) {
      TransformFilter(w + (filter + k) * 9 * channels + at, channels, points[0][k], kLanes * kLanes);
    }
    for (int64_t p = 0; p < kWinogradPoints; ++p) {
      Vector rows[kLanes];
      for (int i = 0; i < kLanes; ++i) rows[i] = At(points[p][i]);
      Transpose(rows);
      float* const out = to + p * stride + panel * channels + at * width + (filter - panel);
      for (int i = 0; i < kLanes; ++i) At(out + i * width) = rows[i];
    }
  }
}

PARTITA_VECTORS void TransformTurnedFilter(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                           int64_t stride) {
  const WinogradPanels panels{filters, channels, kLanes};
  const float* const last = w + (filter * 9 + 8) * channels;
  for (int64_t panel = 0; panel < channels;) {
    const int64_t width = panels.Width(panel), used = std::min(width, channels - panel);
    float* const out = to + panel * filters + filter * width;
    for (int64_t p = 0; p < kWinogradPoints; ++p) std::fill(out + p * stride + used, out + p * stride + width, 0.0f);
    for (int64_t c = 0; c < used; c += kLanes) {
      const int64_t at = Begin(c, used);
      TransformFilter(last + panel + at, -channels, out + at, stride);
    }
    panel += width;
  }
}

PARTITA_INLINED void TimesTransposedG(const Vector (&m)[4], Vector (&to)[3]) {
  const Vector both = (m[1] + m[2]) * 0.5f;
  to[0] = m[0] + both;
  to[1] = (m[1] - m[2]) * 0.5f;
  to[2] = m[3] + both;
}

PARTITA_VECTORS void MakeFilters(const float* from, int64_t stride, int64_t width, int64_t channels, int64_t begin,
                                 int64_t end, float* dw) {
  for (int64_t k = begin; k < end; ++k) {
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int64_t at = Begin(c, channels);
      Vector columns[4][3];
      for (int j = 0; j < 4; ++j) {
        const float* const point = from + j * stride + k * width + at;
        const Vector m[4] = {At(point), At(point + 4 * stride), At(point + 8 * stride), At(point + 12 * stride)};
        TimesTransposedG(m, columns[j]);
      }
      for (int p = 0; p < 3; ++p) {
        const Vector m[4] = {columns[0][p], columns[1][p], columns[2][p], columns[3][p]};
        Vector row[3];
        TimesTransposedG(m, row);
        for (int q = 0; q < 3; ++q) At(dw + ((k * 3 + p) * 3 + q) * channels + at) = row[q];
      }
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

// Sums of so many products are added to those before, so that they round less than one long sum does.
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

constexpr WinogradLoops LoopsNamed(const char* name) {
  return {name,        kLanes,           TransformPixels,       TransformOutputs,
          MakeOutputs, TransformFilters, TransformTurnedFilter, MakeFilters,
          Multiply,    AddProducts};
}

}  // namespace
}  // namespace partita

#undef PARTITA_INLINED

#endif  // PARTITA_OPS_HOST_WINOGRAD_VECTOR_LOOPS_H_
