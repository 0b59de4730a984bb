// Products of few rows with one matrix, again and again, f32: the matrix is packed once, in panels of columns, and the
// rows are packed as they come, in groups, so that what a tile in registers reads lies in one run.
#ifndef PARTITA_OPS_HOST_PRODUCTS_PACKED_PRODUCT_H_
#define PARTITA_OPS_HOST_PRODUCTS_PACKED_PRODUCT_H_

#include <cstdint>

#include "ops/host/products/gemm.h"

namespace partita {

// Rows of a group and columns of a panel, multiples of 4; the last panel may have fewer columns, a multiple of `lanes`.
struct PackedTile {
  int64_t rows, columns, lanes;
};
PackedTile TileOfThisMachine();

inline constexpr int64_t kMostTileRows = 8, kMostTileColumns = 48;  // multiples of 4 in any case

// Where elements of rows [rows, depth] lie. The last group is filled up with rows that are to be zero.
struct PackedRows {
  int64_t depth, group;

  int64_t groups(int64_t rows) const { return (rows + group - 1) / group; }
  int64_t elements(int64_t rows) const { return groups(rows) * group * depth; }
  int64_t At(int64_t row, int64_t k) const { return (row / group * depth + k) * group + row % group; }
};

// Where the columns of a matrix [depth, columns] lie. The last panel is filled up with zeros to a multiple of `lanes`.
struct PackedColumns {
  int64_t depth, columns, panel, lanes;

  int64_t panels() const { return (columns + panel - 1) / panel; }
  int64_t elements() const { return (columns + lanes - 1) / lanes * lanes * depth; }
  int64_t PanelAt(int64_t index) const { return index * panel * depth; }
  int64_t First(int64_t index) const { return index * panel; }  // column
  int64_t Width(int64_t index) const { return columns - First(index) < panel ? columns - First(index) : panel; }
  int64_t Padded(int64_t index) const { return (Width(index) + lanes - 1) / lanes * lanes; }
};

// Packs one panel of `w` to `to`.
void PackPanel(const PackedColumns& columns, int64_t index, MatrixView<float> w, float* to);

// Packs elements [k, k + n) of `count` rows from `row` on; they lie `stride` apart, from element k at `from` on.
void PackRows(const PackedRows& rows, int64_t row, int64_t count, int64_t k, int64_t n, const float* from,
              int64_t stride, float* to);

// Depth that a tile is made of at a time: a group's part stays in the first cache while panels go by, or a panel's
// while groups do. A tile fetches what comes next, of each step of the depth as much as tiles of this many rows in turn
// need of a panel.
inline constexpr int64_t kTileDepth = 256;
inline constexpr int64_t kTileFetched = 32;

// Where the sums of a tile go, and what they are added to; null: nothing.
struct TileSums {
  const float* from;
  int64_t from_stride;
  float* to;
  int64_t stride;
};

// sums.to[r, c] = sums.from[r, c] + the product of row r of a group with column c of a panel with this number of
// columns, over `depth`; meanwhile prefetches memory from `ahead` on.
void MultiplyTile(int64_t depth, const float* rows, const float* panel, int64_t columns, const TileSums& sums,
                  const float* ahead);

// sums[r * stride + c] = the product of row r with column c of such a panel, for the rows of `groups`. The order of a
// sum depends on `depth` alone.
void MultiplyPanel(int64_t groups, int64_t depth, const float* rows, const float* panel, int64_t columns, float* sums,
                   int64_t stride);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_PRODUCTS_PACKED_PRODUCT_H_
