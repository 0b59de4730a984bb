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

// Rows that go through all columns of a panel together, and what comes of them.
inline constexpr int64_t kBlockRows = 32;
inline constexpr int64_t kBlockSums = kBlockRows * kMostTileColumns;

// A block of rows, and a panel of columns.
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
        packed_columns_{depth, columns, TileOfThisMachine().columns} {}

  // In floats, of the weight and of all buffers of rows.
  int64_t workspace() const { return weight_floats() + buffers_ * row_floats(); }

  // The rows of a buffer in this workspace.
  float* Rows(float* workspace, int64_t buffer) const { return workspace + weight_floats() + buffer * row_floats(); }
  int64_t At(int64_t row, int64_t k) const { return packed_rows_.At(row, k); }

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
    constexpr int64_t kProductsOfAnElement = 8;
    const int64_t work = rows_ * packed_columns_.columns * packed_columns_.depth / kProductsOfAnElement;
    const float* const rows = workspace + weight_floats() + buffer * row_floats();
    ParallelFor(packed_columns_.panels(), work, [&](int64_t panel) {
      const float* const weight = workspace + packed_columns_.PanelAt(panel);
      for (int64_t first = 0; first < rows_; first += kBlockRows) {
        alignas(64) float sums[kBlockSums];
        PanelBlock block{first,
                         std::min(kBlockRows, rows_ - first),
                         packed_columns_.First(panel),
                         packed_columns_.Width(panel),
                         packed_columns_.panel,
                         sums};
        const int64_t groups = packed_rows_.groups(block.rows);
        if (zero) {
          std::fill(sums, sums + kBlockSums, 0.0f);
        } else {
          MultiplyPanel(groups, packed_rows_.depth, rows + packed_rows_.At(first, 0), weight, sums);
        }
        f(block);
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
