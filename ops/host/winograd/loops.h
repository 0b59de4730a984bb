// The innermost loops of 3 x 3 convolutions of stride 1 by Winograd's F(2 x 2, 3 x 3), f32 (docs/papers.md 11.16):
//
//   y = A^T ((G g G^T) * (B^T d B)) A        dg = G^T ((B^T d B) * (A dy A^T)) G
//
// A tile of 4 x 4 pixels d makes 2 x 2 outputs y. Transformed, tile and filter have 16 points, which meet one by one,
// so over tiles and channels every point is a product of matrices: 16 multiplications where there were 36.
//
//   B^T = 1  0 -1  0      G = 1    0    0       A^T = 1  1  1  0
//         0  1  1  0          1/2  1/2  1/2           0  1 -1  1
//         0 -1  1  0          1/2 -1/2  1/2
//         0 -1  0  1          0    0    1
//
// (The last row of B^T and the last column of A^T have the other sign than in the paper, which saves operations.)
#ifndef PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_
#define PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace partita {

inline constexpr int64_t kWinogradPoints = 16;

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

// What is done with a sum before it is stored.
struct WinogradEpilogue {
  const float* bias = nullptr;  // of the first channel; null: none
  bool relu = false;
};

// For one kind of vectors. Channels are at least `lanes`, but need not be whole vectors. Points lie `stride` apart.
struct WinogradLoops {
  const char* name;  // of the vectors
  int64_t lanes;

  // B^T d B of all channels of the 16 `pixels`, in the order of rows.
  void (*transform_pixels)(const float* const* pixels, int64_t channels, float* to, int64_t stride);
  // A dy A^T of the 4 `outputs`.
  void (*transform_outputs)(const float* const* outputs, int64_t channels, float* to, int64_t stride);
  // A^T m A to those of 4 `outputs` that are not null.
  void (*make_outputs)(const float* from, int64_t stride, int64_t channels, const WinogradEpilogue& epilogue,
                       float* const* outputs);

  // G g G^T of `lanes` filters from `filter` on, of filters w[filters, 3, 3, channels], in panels: a channel is a row
  // and a filter a column.
  void (*transform_filters)(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                            int64_t stride);
  // The same of one filter, turned by half a circle, where a filter is a row and a channel a column.
  void (*transform_turned_filter)(const float* w, int64_t filters, int64_t channels, int64_t filter, float* to,
                                  int64_t stride);
  // G^T m G of the filters [begin, end): m lies in rows of `width`, dw as w does.
  void (*make_filters)(const float* from, int64_t stride, int64_t width, int64_t channels, int64_t begin, int64_t end,
                       float* dw);

  // sums[r * width + c] = row r of `rows` (at distances of `depth`) with column c of the panel, c < width.
  void (*multiply)(int64_t rows, int64_t depth, const float* left, const float* panel, int64_t width, float* sums,
                   int64_t stride);
  // sums[i * stride + j] = or += the sum over r < rows of left[r * left_stride + i] right[r * right_stride + j], for
  // i < left_columns and j < width: of whole vectors, so that `right` is read beyond its last column.
  void (*add_products)(int64_t rows, const float* left, int64_t left_stride, int64_t left_columns, const float* right,
                       int64_t right_stride, int64_t width, bool add, float* sums, int64_t stride);
};

// Those that this machine can run, the widest first.
const std::vector<const WinogradLoops*>& WinogradLoopsOfThisMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LOOPS_H_
