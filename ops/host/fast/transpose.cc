// Fast transpose: square tiles of cells, so that what is read of a cache line is used while it is there. Of any dtype.
#include <cstring>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/values/transposition.h"

namespace partita {
namespace {

constexpr int64_t kTile = 16;

// Steps in bytes.
struct Tile {
  const char* x;
  char* y;
  int64_t rows, columns, x_step, y_step, cell_bytes;
};

// Cells of the width of `Cell`.
template <typename Cell>
void TurnCells(const Tile& tile) {
  for (int64_t c = 0; c < tile.columns; ++c) {
    constexpr int64_t kBytes = sizeof(Cell);
    char* const to = tile.y + c * tile.y_step;
    const char* const from = tile.x + c * kBytes;
    for (int64_t r = 0; r < tile.rows; ++r) std::memcpy(to + r * kBytes, from + r * tile.x_step, kBytes);
  }
}

// Cells of several elements.
void TurnRuns(const Tile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      std::memcpy(tile.y + c * tile.y_step + r * tile.cell_bytes, tile.x + r * tile.x_step + c * tile.cell_bytes,
                  static_cast<size_t>(tile.cell_bytes));
    }
  }
}

void Turn(const Tile& tile) {
  if (tile.cell_bytes == 1) return TurnCells<uint8_t>(tile);
  if (tile.cell_bytes == 2) return TurnCells<uint16_t>(tile);
  if (tile.cell_bytes == 4) return TurnCells<uint32_t>(tile);
  if (tile.cell_bytes == 8) return TurnCells<uint64_t>(tile);
  TurnRuns(tile);
}

// The strips of kTile rows of all outer places, one task each.
class Strips {
 public:
  Strips(const Transposition& whole, int64_t element_bytes)
      : whole_(whole), cell_bytes_(whole.cell * element_bytes), per_place_((whole.rows.size + kTile - 1) / kTile) {
    for (const Transposition::Dimension& d : whole_.outer) places_ *= d.size;
  }

  int64_t count() const { return places_ * per_place_; }

  void TurnStrip(int64_t strip, const char* x, char* y) const {
    int64_t place = strip / per_place_, from = 0, to = 0;
    for (auto d = whole_.outer.rbegin(); d != whole_.outer.rend(); ++d) {
      from += place % d->size * d->x_step;
      to += place % d->size * d->y_step;
      place /= d->size;
    }
    const int64_t row = strip % per_place_ * kTile;
    const int64_t rows = std::min(kTile, whole_.rows.size - row);
    for (int64_t column = 0; column < whole_.columns.size; column += kTile) {
      Turn({x + (from + row * whole_.rows.x_step + column) * cell_bytes_,
            y + (to + column * whole_.columns.y_step + row) * cell_bytes_, rows,
            std::min(kTile, whole_.columns.size - column), whole_.rows.x_step * cell_bytes_,
            whole_.columns.y_step * cell_bytes_, cell_bytes_});
    }
  }

 private:
  Transposition whole_;
  int64_t cell_bytes_, per_place_, places_ = 1;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastTranspose(const LocalNode& node) {
  const int64_t bytes = node.outputs[0].bytes();
  if (bytes == 0) return Prepared([](const KernelArguments&) {});
  const Transposition whole = MakeTransposition(InputShape(node, 0), node.attributes.Ints("permutation"));
  if (whole.is_copy()) {
    return Prepared([bytes](const KernelArguments& a) { std::memcpy(a.outputs[0], a.inputs[0], bytes); });
  }
  return Prepared([strips = Strips(whole, SizeOf(node.outputs[0].dtype)), bytes](const KernelArguments& a) {
    ParallelFor(strips.count(), bytes / 2, [&](int64_t i) { strips.TurnStrip(i, In<char>(a, 0), Out<char>(a, 0)); });
  });
}

}  // namespace partita
