// One of the products of a recurrence: rows that are packed as they are made, with a weight that is packed once and
// held for all places.
#ifndef PARTITA_OPS_HOST_RECURRENCE_HELD_PRODUCT_H_
#define PARTITA_OPS_HOST_RECURRENCE_HELD_PRODUCT_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/kernel/parallel.h"
#include "ops/host/products/packed_product.h"
#include "runtime/base/alignment.h"

namespace partita {

// Rows that go through a panel together; panels that a thread takes together, so that the pieces of rows which it reads
// and writes elsewhere are not too short; and what comes of them.
inline constexpr int64_t kBlockRows = 32;
inline constexpr int64_t kMostPanels = 4;
inline constexpr int64_t kMostColumns = kMostPanels * kMostTileColumns;
inline constexpr int64_t kBlockSums = kBlockRows * kMostColumns;

// A block of rows, and some panels of columns.
struct PanelBlock {
  int64_t first_row, rows;
  int64_t first_column, columns;
  int64_t stride;     // of a row's sums
  const float* sums;  // aligned to 64 bytes
};

class HeldProduct {
 public:
  HeldProduct(int64_t rows, int64_t depth, int64_t columns, int buffers)
      : rows_(rows),
        buffers_(buffers),
        packed_rows_{depth, TileOfThisMachine().rows},
        packed_columns_{depth, columns, TileOfThisMachine().columns, TileOfThisMachine().lanes} {}

  // In floats, of the weight and of all buffers of rows.
  int64_t workspace() const { return weight_floats() + buffers_ * row_floats(); }

  // The rows of a buffer in this workspace.
  float* Rows(float* workspace, int64_t buffer) const { return workspace + weight_floats() + buffer * row_floats(); }
  // Writes elements [first, first + n) of `count` rows from `row` on, which lie `stride` apart.
  void Pack(const float* from, int64_t stride, int64_t row, int64_t count, int64_t first, int64_t n,
            float* rows) const {
    PackRows(packed_rows_, row, count, first, n, from, stride, rows);
  }
  void CopyRow(const float* from, int64_t row, int64_t first, int64_t n, float* rows) const {
    const int64_t begin = packed_rows_.At(row, first), step = packed_rows_.group;
    for (int64_t k = 0; k < n; ++k) rows[begin + k * step] = from[begin + k * step];
  }

  // Packs the weight and clears all rows.
  void Hold(MatrixView<float> weight, float* workspace) const {
    ParallelFor(packed_columns_.panels(), weight_floats(), [&](int64_t panel) {
      PackPanel(packed_columns_, panel, weight, workspace + packed_columns_.PanelAt(panel));
    });
    std::fill(Rows(workspace, 0), Rows(workspace, buffers_), 0.0f);
  }

  // Calls f(block) for all of the product of the rows of a buffer; sums are zero if it is `zero`. Threads share panels.
  template <typename F>
  void Multiply(const float* workspace, int64_t buffer, bool zero, const F& f) const {
    constexpr int64_t kProductsOfAnElement = 8, kLeastTasks = 16;
    const int64_t work = rows_ * packed_columns_.columns * packed_columns_.depth / kProductsOfAnElement;
    const float* const rows = workspace + weight_floats() + buffer * row_floats();
    const int64_t together = std::clamp<int64_t>(packed_columns_.panels() / kLeastTasks, 1, kMostPanels);
    ParallelFor((packed_columns_.panels() + together - 1) / together, work, [&](int64_t task) {
      const int64_t panel = task * together, panels = std::min(together, packed_columns_.panels() - panel);
      for (int64_t first = 0; first < rows_; first += kBlockRows) {
        alignas(64) float sums[kBlockSums];
        const int64_t stride = together * packed_columns_.panel;
        if (zero) std::fill(sums, sums + kBlockSums, 0.0f);
        const int64_t block_rows = std::min(kBlockRows, rows_ - first);
        for (int64_t p = 0; p < (zero ? 0 : panels); ++p) {
          MultiplyPanel(packed_rows_.groups(block_rows), packed_rows_.depth, rows + packed_rows_.At(first, 0),
                        workspace + packed_columns_.PanelAt(panel + p), packed_columns_.Padded(panel + p),
                        sums + p * packed_columns_.panel, stride);
        }
        const int64_t column = packed_columns_.First(panel);
        const int64_t end = packed_columns_.First(panel + panels - 1) + packed_columns_.Width(panel + panels - 1);
        f(PanelBlock{first, block_rows, column, end - column, stride, sums});
      }
    });
  }

 private:
  int64_t weight_floats() const { return Whole(packed_columns_.elements()); }
  int64_t row_floats() const { return Whole(packed_rows_.elements(rows_)); }
  static int64_t Whole(int64_t floats) {
    return AlignUp(floats * static_cast<int64_t>(sizeof(float))) / static_cast<int64_t>(sizeof(float));
  }

  int64_t rows_, buffers_;
  PackedRows packed_rows_;
  PackedColumns packed_columns_;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_HELD_PRODUCT_H_
