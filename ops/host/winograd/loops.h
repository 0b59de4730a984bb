// The innermost loops of 3 x 3 convolutions of stride 1 by Winograd's F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3), f32
// (docs/papers.md 11.16):
//
//   y = A^T ((G g G^T) * (B^T d B)) A        dg = G^T ((B^T d B) * (A dy A^T)) G
//
// A tile of 4 x 4 (6 x 6) pixels d makes 2 x 2 (4 x 4) outputs y. Transformed, tile and filter have 16 (36) points,
// which meet one by one, so over tiles and channels every point is a product of matrices: 16 (36) multiplications where
// there were 36 (144).
//
//   B^T = 1  0 -1  0      G = 1    0    0       A^T = 1  1  1  0
//         0  1  1  0          1/2  1/2  1/2           0  1 -1  1
//         0 -1  1  0          1/2 -1/2  1/2
//         0 -1  0  1          0    0    1
//
// (The last row of B^T and the last column of A^T have the other sign than in the paper, which saves operations.) Of
// 4 x 4 outputs the polynomials of the rows of B^T are x^4 - 5/2 x^2 + 1, x (x + p) (x^2 - 5/2 + p^2) for p = r/2,
// -r/2, r, -r, where r is the root of 2, and x times the first; those of G are (1 + p x + p^2 x^2) / N, N = 1, -3/2,
// -3/2, 6, 6.
#ifndef PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace partita {

// The columns of a matrix [depth, columns] in panels, as they lie one behind the other: of three vectors or two, and of
// one if that is all. What is left of the last vector is zero.
struct WinogradPanels {
  int64_t depth, columns, lanes;

  int64_t padded() const { return (columns + lanes - 1) / lanes * lanes; }
  int64_t elements() const { return depth * padded(); }
  // Columns of the panel that begins at `column`.
  int64_t Width(int64_t column) const {
    const int64_t vectors = (padded() - column) / lanes;
    return (vectors == 4 ? 2 : std::min<int64_t>(vectors, 3)) * lanes;
  }
};

inline constexpr int64_t kMostWinogradPoints = 36;  // of a tile

// What is done with a sum before it is stored.
struct WinogradEpilogue {
  const float* bias = nullptr;  // of the first channel; null: none
  bool relu = false;
};

// What a weight gradient has added up: the sum of `parts` sums, which lie at distances of `part_stride`, each of them
// points, at distances of `stride`, of rows of `width` channels, one for each filter.
struct WinogradSums {
  const float* from;
  int64_t parts, part_stride, stride, width;
};

// For one kind of vectors and tiles of one size. Channels are at least `lanes`, but need not be whole vectors. Points
// lie `stride` apart.
struct WinogradLoops {
  const char* name;  // of the vectors
  int64_t lanes;
  int64_t side;  // of the outputs that a tile makes

  int64_t seen() const { return side + 2; }  // of the pixels that it sees
  int64_t points() const { return seen() * seen(); }

  // B^T d B of all channels of the `pixels` that a tile sees, in the order of rows.
  void (*transform_pixels)(const float* const* pixels, int64_t channels, float* to, int64_t stride);
  // A dy A^T of the `outputs` of a tile.
  void (*transform_outputs)(const float* const* outputs, int64_t channels, float* to, int64_t stride);
  // A^T m A to those of the `outputs` that are not null.
  void (*make_outputs)(const float* from, int64_t stride, int64_t channels, const WinogradEpilogue& epilogue,
                       float* const* outputs);

  // G g G^T of `lanes` filters from `filter` on, of filters w[filters, 3, 3, channels], in panels: a channel is a row
  // and a filter a column.
  void (*transform_filters)(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                            int64_t stride);
  // The same of one filter, turned by half a circle, where a filter is a row and a channel a column.
  void (*transform_turned_filter)(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                  int64_t stride);
  // G^T m G of one filter, of dw[filters, 3, 3, channels].
  void (*make_filter)(const WinogradSums& sums, int64_t channels, int64_t filter, float* dw);

  // sums[r * width + c] = row r of `rows` (at distances of `depth`) with column c of the panel, c < width.
  void (*multiply)(int64_t rows, int64_t depth, const float* left, const float* panel, int64_t width, float* sums,
                   int64_t stride);
  // sums[i * stride + j] = or += the sum over r < rows of left[r * left_stride + i] right[r * right_stride + j], for
  // i < left_columns and j < width: of whole vectors, so that `right` is read beyond its last column.
  void (*add_products)(int64_t rows, const float* left, int64_t left_stride, int64_t left_columns, const float* right,
                       int64_t right_stride, int64_t width, bool add, float* sums, int64_t stride);
};

// Those that this machine can run, the widest first, those of 4 x 4 outputs before those of 2 x 2.
const std::vector<const WinogradLoops*>& WinogradLoopsOfThisMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_
