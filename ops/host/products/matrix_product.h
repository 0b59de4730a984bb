// A product of matrices, f32, in tiles of packed_product.h, which are as fast as a machine multiplies while
// what they read lies in its caches.
//
// One operand is packed by all threads, for a part of the depth; of the other, the longer one, threads take blocks of
// strips as they come free: one packs a block, which then meets the strips of the first, or some of them where blocks
// are few. What is packed next and the outputs of the next tile are fetched meanwhile. Tiles add in the order of the
// depth: bits do not depend on the number of threads.
#ifndef PARTITA_OPS_HOST_PRODUCTS_MATRIX_PRODUCT_H_
#define PARTITA_OPS_HOST_PRODUCTS_MATRIX_PRODUCT_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/kernel/parallel.h"
#include "ops/host/products/packed_product.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {

class MatrixProduct {
 public:
  // The most elements to keep packed, but at least a tile's depth of them.
  explicit MatrixProduct(const ProductSizes& sizes, int64_t held_elements = 1 << 20)
      : s_(sizes), tile_(TileOfThisMachine()), rows_pass_(s_.m > s_.n), held_count_(rows_pass_ ? s_.n : s_.m) {
    const int64_t most = std::max<int64_t>(1, held_elements / (held_count_ * kTileDepth)) * kTileDepth;
    chunk_ = std::min(s_.k, most);
    strips_of_block_ =
        std::clamp<int64_t>(passing_strips() / kFewestTasks, 1, kBlockBytes / (passing_width() * kTileDepth * 4));
    cuts_ = std::clamp<int64_t>(kFewestTasks / blocks(), 1, std::max<int64_t>(1, held_strips() / kFewestStrips));
    threads_ = static_cast<int>(std::min<int64_t>(MaxThreads(), blocks() * cuts_));
  }

  int64_t workspace_bytes() const { return HeldBytes() + threads_ * kBlockBytes; }

  // y = x w, and the bias if there is one.
  void Run(const float* x, const float* w, const float* bias, float* y, void* workspace) const {
    const MatrixView<float> rows{x, s_.transpose_x ? s_.m : 1, s_.transpose_x ? 1 : s_.k};  // of k, then of m
    const MatrixView<float> columns{w, s_.transpose_w ? 1 : s_.n, s_.transpose_w ? s_.k : 1};
    char* const memory = static_cast<char*>(workspace);
    float* const held = reinterpret_cast<float*>(memory);
    for (int64_t k = 0; k < s_.k; k += chunk_) {
      const IndexRange chunk{k, std::min(s_.k, k + chunk_)};
      Hold(rows_pass_ ? columns : rows, chunk, held);
      const bool small = s_.m * s_.n * (chunk.end - k) < kParallelElements;
      ParallelTasks(small ? 1 : threads_, blocks() * cuts_, [&](int thread, int64_t task) {
        float* const block = reinterpret_cast<float*>(memory + HeldBytes() + thread * kBlockBytes);
        const int64_t strip = task / cuts_ * strips_of_block_, cut = task % cuts_;
        const IndexRange strips{strip, std::min(passing_strips(), strip + strips_of_block_)};
        const IndexRange met{cut * held_strips() / cuts_, (cut + 1) * held_strips() / cuts_};
        Pass(rows_pass_ ? rows : columns, strips, met, chunk, held, block, {bias, y});
      });
    }
  }

 private:
  static constexpr int64_t kBlockBytes = 128 * 1024;  // packed strips of one thread, at most
  static constexpr int64_t kFewestTasks = 24;         // where strips are enough
  static constexpr int64_t kFewestStrips = 8;         // that a block repays its packing with

  struct Result {
    const float* bias;
    float* y;
  };

  // A tile of y, and whether all of it is there.
  struct Place {
    int64_t row, column, rows, columns;
  };

  int64_t held_width() const { return rows_pass_ ? tile_.columns : tile_.rows; }
  int64_t passing_width() const { return rows_pass_ ? tile_.rows : tile_.columns; }
  int64_t passing_count() const { return rows_pass_ ? s_.m : s_.n; }
  int64_t held_strips() const { return CeilDivide(held_count_, held_width()); }
  int64_t passing_strips() const { return CeilDivide(passing_count(), passing_width()); }
  int64_t blocks() const { return CeilDivide(passing_strips(), strips_of_block_); }
  int64_t HeldBytes() const { return AlignUp(held_strips() * held_width() * chunk_ * 4); }
  // Rows of a tile are always all there; of columns the last may be fewer.
  int64_t held_lanes() const { return rows_pass_ ? tile_.lanes : tile_.rows; }
  int64_t passing_lanes() const { return rows_pass_ ? tile_.rows : tile_.lanes; }

  // Strips of a part of the depth lie behind each other, and parts do.
  void Hold(const MatrixView<float>& from, const IndexRange& chunk, float* held) const {
    const int64_t depth = chunk.end - chunk.begin, parts = CeilDivide(depth, kTileDepth);
    ParallelFor(held_strips() * parts, held_count_ * depth, [&](int64_t i) {
      const int64_t k = i % parts * kTileDepth, strip = i / parts;
      const PackedColumns packed{std::min(kTileDepth, depth - k), held_count_, held_width(), held_lanes()};
      PackPanel(packed, strip, From(from, chunk.begin + k),
                held + k * held_strips() * held_width() + packed.PanelAt(strip));
    });
  }

  static MatrixView<float> From(const MatrixView<float>& view, int64_t k) {
    return {view.data + k * view.row_stride, view.row_stride, view.column_stride};
  }

  // Fetches some of what PackPanel will read of strips: its runs are rows of either kind.
  struct Runs {
    const char* data;
    int64_t stride, bytes, count;

    void Fetch(int64_t step, int64_t steps) const {
      for (int64_t i = step * count / steps; i < (step + 1) * count / steps; ++i) {
        for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(data + i * stride + b, 0, 2);
      }
    }
  };
  Runs RunsOf(const MatrixView<float>& from, const IndexRange& strips, const IndexRange& k) const {
    const int64_t begin = strips.begin * passing_width(), end = std::min(strips.end * passing_width(), passing_count());
    const char* const data =
        reinterpret_cast<const char*>(from.data + k.begin * from.row_stride + begin * from.column_stride);
    if (from.column_stride == 1) return {data, from.row_stride * 4, (end - begin) * 4, k.end - k.begin};
    return {data, from.column_stride * 4, (k.end - k.begin) * 4, end - begin};
  }

  // What strips give with those of the held operand that they meet.
  void Pass(const MatrixView<float>& from, const IndexRange& strips, const IndexRange& met, const IndexRange& chunk,
            const float* held, float* block, const Result& result) const {
    for (int64_t k = chunk.begin; k < chunk.end; k += kTileDepth) {
      const IndexRange part{k, std::min(chunk.end, k + kTileDepth)};
      const PackedColumns packed{part.end - k, passing_count(), passing_width(), passing_lanes()};
      for (int64_t i = strips.begin; i < strips.end; ++i) {
        PackPanel(packed, i, From(from, k), block + packed.PanelAt(i - strips.begin));
      }
      Multiply(strips, met, part, held + (k - chunk.begin) * held_strips() * held_width(), block,
               NextOf(from, strips, part, chunk), result);
    }
  }

  // The part behind this one, or the strips that are likely to be next.
  Runs NextOf(const MatrixView<float>& from, const IndexRange& strips, const IndexRange& part,
              const IndexRange& chunk) const {
    if (part.end < chunk.end) return RunsOf(from, strips, {part.end, std::min(chunk.end, part.end + kTileDepth)});
    const int64_t begin = cuts_ > 1 ? passing_strips() : strips.end + (threads_ - 1) * strips_of_block_;
    if (begin >= passing_strips()) return {};
    const IndexRange others{begin, std::min(passing_strips(), begin + strips_of_block_)};
    return RunsOf(from, others, {chunk.begin, std::min(chunk.end, chunk.begin + kTileDepth)});
  }

  void Multiply(const IndexRange& strips, const IndexRange& met, const IndexRange& part, const float* held,
                const float* block, const Runs& next, const Result& result) const {
    const int64_t depth = part.end - part.begin, count = strips.end - strips.begin;
    const int64_t tiles = count * (met.end - met.begin), share = depth * held_width();
    const auto place_of = [&](int64_t t) { return PlaceOf(met.begin + t / count, strips.begin + t % count); };
    for (int64_t t = 0; t < tiles; ++t) {
      next.Fetch(t, tiles);
      if (t + 1 < tiles) FetchOutputs(place_of(t + 1), result.y);
      const float* const of_held = held + (met.begin + t / count) * share;
      const float* const passing = block + t % count * depth * passing_width();
      const float* const rows = rows_pass_ ? passing : of_held;
      const float* const columns = rows_pass_ ? of_held : passing;
      Tile(place_of(t), part, rows, columns, of_held + share, result);
    }
  }

  Place PlaceOf(int64_t held, int64_t passing) const {
    const int64_t row = (rows_pass_ ? passing : held) * tile_.rows;
    const int64_t column = (rows_pass_ ? held : passing) * tile_.columns;
    return {row, column, std::min(tile_.rows, s_.m - row), std::min(tile_.columns, s_.n - column)};
  }

  void FetchOutputs(const Place& place, const float* y) const {
    for (int64_t r = 0; r < place.rows; ++r) {
      const float* const row = y + (place.row + r) * s_.n + place.column;
      for (int64_t c = 0; c < place.columns; c += 16) __builtin_prefetch(row + c, 1);
      __builtin_prefetch(row + place.columns - 1, 1);
    }
  }

  void Tile(const Place& at, const IndexRange& part, const float* rows, const float* columns, const float* ahead,
            const Result& result) const {
    const int64_t depth = part.end - part.begin;
    float* const y = result.y + at.row * s_.n + at.column;
    const float* const bias = result.bias == nullptr ? nullptr : result.bias + at.column;
    const int64_t padded = CeilDivide(at.columns, tile_.lanes) * tile_.lanes;
    if (at.rows == tile_.rows && at.columns == padded) {
      const bool first = part.begin == 0;
      return MultiplyTile(depth, rows, columns, padded, {first ? bias : y, first ? 0 : s_.n, y, s_.n}, ahead);
    }
    alignas(64) float sums[kMostTileRows * kMostTileColumns];
    MultiplyTile(depth, rows, columns, padded, {nullptr, 0, sums, tile_.columns}, ahead);
    for (int64_t r = 0; r < at.rows; ++r) {
      for (int64_t c = 0; c < at.columns; ++c) {
        const float before = part.begin > 0 ? y[r * s_.n + c] : bias == nullptr ? 0.0f : bias[c];
        y[r * s_.n + c] = before + sums[r * tile_.columns + c];
      }
    }
  }

  ProductSizes s_;
  PackedTile tile_;
  bool rows_pass_;  // rows of x, or columns of w
  int64_t held_count_, chunk_, strips_of_block_, cuts_;
  int threads_;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_PRODUCTS_MATRIX_PRODUCT_H_
