// The innermost loops of convolutions of stride 1 along lines of pixels, f32, by Winograd's algorithm in one dimension
// with the 6 points 0, 1, -1, 2, -1/2 and infinity (docs/papers.md 11.16):
//
//   y = A^T sum over pieces ((G g) * (B^T d))        dg = G^T ((B^T d) * (A dy))
//
// A tile makes 4 pixels with 3 taps, or 3 with 4: 6 multiplications where there were 12. A longer filter is cut in
// pieces, all pieces are added up at the points, and come back once. A piece that has fewer taps does without the last
// point.
//
//   B^T = 1  3/2  -2 -3/2    1  0      G = [1 a a^2 a^3] / N(a), a point in each row, N = 1, -3, 3, 15, -15/16;
//         0   -1 -5/2 -1/2   1  0          the last tap at infinity
//         0    1  1/2 -5/2   1  0
//         0 -1/2   -1  1/2   1  0      A^T = [1 a a^2 a^3] transposed, a point in each column; in that of infinity
//         0    2   -1   -2   1  0          the last row alone
//         0    1  3/2   -2 -3/2  1
#ifndef PARTITA_OPS_HOST_WINOGRAD_LINE_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_LINE_LOOPS_H_

#include <cstdint>
#include <vector>

#include "ops/host/winograd/loops.h"

namespace partita {

inline constexpr int64_t kLinePoints = 6;

// A part of a filter.
struct LinePiece {
  int64_t taps, points;
};

// For one kind of vectors. Channels are at least `lanes`, but need not be whole vectors. Points lie `stride` apart.
struct LineLoops {
  const char* name;  // of the vectors
  int64_t lanes;

  // The points [begin, end) of B^T d of all channels of 6 `pixels`: 0 to 6, 0 to 5, or one of them.
  void (*transform_pixels)(const float* const* pixels, int64_t begin, int64_t end, int64_t channels, float* to,
                           int64_t stride);
  // The points of A dy of the `made` pixels of a tile: all 6, or one of them.
  void (*transform_outputs)(const float* const* outputs, int64_t made, int64_t begin, int64_t end, int64_t channels,
                            float* to, int64_t stride);
  // A^T m to those of the `made` pixels that are not null.
  void (*make_outputs)(const float* from, int64_t stride, int64_t made, int64_t channels,
                       const WinogradEpilogue& epilogue, float* const* outputs);

  // G g of a piece of `lanes` filters from `filter` on, in panels: a channel is a row and a filter a column. `w` is the
  // piece's first tap of the first filter, `tap_step` the distance to the next one, `filter_step` that of filters.
  void (*transform_filters)(const float* w, int64_t filter_step, int64_t tap_step, const LinePiece& piece,
                            int64_t filters, int64_t channels, int64_t filter, float* to, int64_t stride);
  // The same of one filter, where a filter is a row and a channel a column; `w` is its piece's first tap.
  void (*transform_row)(const float* w, int64_t tap_step, const LinePiece& piece, int64_t filters, int64_t channels,
                        int64_t filter, float* to, int64_t stride);
  // G^T m of a piece of one filter. m is a row: the sum of `parts` rows at distances of `part_stride`. `dw` is the
  // piece's first tap.
  void (*make_filter)(const float* from, int64_t parts, int64_t part_stride, int64_t stride, int64_t channels,
                      int64_t tap_step, const LinePiece& piece, float* dw);

  // sums[r * width + c] = or += row r of `rows`, at distances of `depth`, with column c of the panel, c < width.
  void (*multiply)(int64_t rows, int64_t depth, const float* left, const float* panel, int64_t width, bool add,
                   float* sums);
  // As WinogradLoops has it.
  void (*add_products)(int64_t rows, const float* left, int64_t left_stride, int64_t left_columns, const float* right,
                       int64_t right_stride, int64_t width, bool add, float* sums, int64_t stride);
};

// Those that this machine can run, the widest first.
const std::vector<const LineLoops*>& LineLoopsOfThisMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LINE_LOOPS_H_
