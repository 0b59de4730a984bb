#include "ops/cuda/launch/copies.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/loops.h"
#include "ops/functors/geometry.h"

namespace partita::launch {
namespace {

struct alignas(16) Bytes16 {
  uint64_t half[2];
};

// A box in units of its own width, which the launch chose.
struct Box {
  const char* from;
  char* to;
  int64_t run_units;
  int64_t end;  // index behind the box's last unit, counted over all boxes of the launch
  int unit_bytes;
  int dimensions;
  int64_t size[StridedBox::kMaxDimensions];
  int64_t from_stride[StridedBox::kMaxDimensions], to_stride[StridedBox::kMaxDimensions];

  PARTITA_HOST_DEVICE void CopyUnit(int64_t unit) const {
    const int64_t in_run = unit % run_units * unit_bytes;
    int64_t run = unit / run_units, source = in_run, target = in_run;
    for (int d = 0; d < dimensions; ++d) {
      const int64_t index = run % size[d];
      run /= size[d];
      source += index * from_stride[d];
      target += index * to_stride[d];
    }
    Move(from + source, to + target);
  }

 private:
  template <typename Unit>
  PARTITA_HOST_DEVICE static void MoveAs(const char* source, char* target) {
    *reinterpret_cast<Unit*>(target) = *reinterpret_cast<const Unit*>(source);
  }
  PARTITA_HOST_DEVICE void Move(const char* source, char* target) const {
    if (unit_bytes == 16) return MoveAs<Bytes16>(source, target);
    if (unit_bytes == 8) return MoveAs<uint64_t>(source, target);
    if (unit_bytes == 4) return MoveAs<uint32_t>(source, target);
    if (unit_bytes == 2) return MoveAs<uint16_t>(source, target);
    *target = *source;
  }
};

// The arguments of a launch hold 4096 bytes.
inline constexpr int kBoxes = 16;

struct CopyBody {
  int count;
  Box boxes[kBoxes];

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    int64_t begin = 0;
    for (int k = 0; k < count; ++k) {
      if (i < boxes[k].end) return boxes[k].CopyUnit(i - begin);
      begin = boxes[k].end;
    }
  }
};
static_assert(sizeof(CopyBody) <= 4000);

int UnitBytes(const StridedBox& box) {
  uint64_t bits = reinterpret_cast<uintptr_t>(box.from) | reinterpret_cast<uintptr_t>(box.to) |
                  static_cast<uint64_t>(box.run_bytes) | 16;
  for (int d = 0; d < box.dimensions; ++d) {
    bits |= static_cast<uint64_t>(box.from_stride[d]) | static_cast<uint64_t>(box.to_stride[d]);
  }
  return static_cast<int>(bits & (~bits + 1));  // the lowest bit that any of them has
}

int64_t Runs(const StridedBox& box) {
  int64_t runs = 1;
  for (int d = 0; d < box.dimensions; ++d) runs *= box.size[d];
  return runs;
}

Box InUnits(const StridedBox& from, int64_t begin) {
  Box box{};
  box.from = from.from;
  box.to = from.to;
  box.unit_bytes = UnitBytes(from);
  box.run_units = from.run_bytes / box.unit_bytes;
  box.end = begin + box.run_units * Runs(from);
  box.dimensions = from.dimensions;
  for (int d = 0; d < from.dimensions; ++d) {
    box.size[d] = from.size[d];
    box.from_stride[d] = from.from_stride[d];
    box.to_stride[d] = from.to_stride[d];
  }
  return box;
}

// A tile is a square of kTurned rows and columns; a thread has every kDepth-th line of it. Of a line of memory there is
// one element more, so that a column's lie in different banks.
inline constexpr int kTurned = 32, kDepth = kBlockThreads / kTurned;

template <typename Element>
struct TurnBody {
  struct Memory {
    Element at[kTurned][kTurned + 1];
  };
  struct Outer {
    Divisor size;
    int64_t x_step, y_step;
  };
  const Element* x;
  Element* y;
  int64_t columns, rows, x_step, y_step;
  Divisor column_tiles, row_tiles;
  Outer outer[2];

  // Where a tile begins.
  struct Place {
    int64_t row, column;
    int64_t x, y;  // of its outer place
  };
  PARTITA_HOST_DEVICE Place At(int64_t tile) const {
    const Divisor::Divided by_column = column_tiles(tile), by_row = row_tiles(by_column.quotient);
    const Divisor::Divided inner = outer[1].size(by_row.quotient);
    return {by_row.rest * kTurned, by_column.rest * kTurned,
            inner.quotient * outer[0].x_step + inner.rest * outer[1].x_step,
            inner.quotient * outer[0].y_step + inner.rest * outer[1].y_step};
  }

  PARTITA_HOST_DEVICE void Load(int64_t tile, int thread, Memory& memory) const {
    const Place place = At(tile);
    const int64_t column = place.column + thread % kTurned;
    if (column >= columns) return;
    for (int line = thread / kTurned; line < kTurned && place.row + line < rows; line += kDepth) {
      memory.at[line][thread % kTurned] = x[place.x + (place.row + line) * x_step + column];
    }
  }
  PARTITA_HOST_DEVICE void Store(int64_t tile, int thread, const Memory& memory) const {
    const Place place = At(tile);
    const int64_t row = place.row + thread % kTurned;
    if (row >= rows) return;
    for (int line = thread / kTurned; line < kTurned && place.column + line < columns; line += kDepth) {
      y[place.y + (place.column + line) * y_step + row] = memory.at[thread % kTurned][line];
    }
  }
};

template <typename Element>
LaunchError TurnAs(const TurnedElements& turned, const void* x, void* y, CudaQueue queue) {
  using Body = TurnBody<Element>;
  const auto outer = [](const TurnedElements::Outer& from) {
    return typename Body::Outer{Divisor(from.size), from.x_step, from.y_step};
  };
  const int64_t column_tiles = CeilDivide(turned.columns, kTurned), row_tiles = CeilDivide(turned.rows, kTurned);
  const Body body{static_cast<const Element*>(x),
                  static_cast<Element*>(y),
                  turned.columns,
                  turned.rows,
                  turned.x_step,
                  turned.y_step,
                  Divisor(column_tiles),
                  Divisor(row_tiles),
                  {outer(turned.outer[0]), outer(turned.outer[1])}};
  return PassTiles(column_tiles * row_tiles * turned.outer[0].size * turned.outer[1].size, body, queue);
}

bool IsOneRun(const StridedBox& box) { return box.dimensions == 0; }

}  // namespace

LaunchError Copy(const StridedBox* boxes, int count, CudaQueue queue) {
  if (count == 1 && IsOneRun(boxes[0])) return CopyBytes(boxes[0].to, boxes[0].from, boxes[0].run_bytes, queue);
  CopyBody body{};
  for (int k = 0; k < count; ++k) {
    if (boxes[k].run_bytes == 0 || Runs(boxes[k]) == 0) continue;
    const int64_t begin = body.count == 0 ? 0 : body.boxes[body.count - 1].end;
    body.boxes[body.count++] = InUnits(boxes[k], begin);
    if (body.count < kBoxes) continue;
    if (const LaunchError error = ForEach(body.boxes[kBoxes - 1].end, body, queue); error != kLaunched) return error;
    body = CopyBody{};
  }
  return body.count == 0 ? kLaunched : ForEach(body.boxes[body.count - 1].end, body, queue);
}

LaunchError Turn(const TurnedElements& turned, const void* x, void* y, CudaQueue queue) {
  if (turned.element_bytes == 1) return TurnAs<uint8_t>(turned, x, y, queue);
  if (turned.element_bytes == 2) return TurnAs<uint16_t>(turned, x, y, queue);
  if (turned.element_bytes == 4) return TurnAs<uint32_t>(turned, x, y, queue);
  if (turned.element_bytes == 8) return TurnAs<uint64_t>(turned, x, y, queue);
  return kInvalidLaunch;
}

LaunchError CopyRun(void* to, const void* from, int64_t bytes, CudaQueue queue) {
  return CopyBytes(to, from, bytes, queue);
}

LaunchError Zero(void* to, int64_t bytes, CudaQueue queue) { return ZeroBytes(to, bytes, queue); }

}  // namespace partita::launch
