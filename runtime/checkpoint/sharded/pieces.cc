#include "runtime/checkpoint/sharded/pieces.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita {

// Cut in the first dimension that has several indices: rows together where they fit, else each by itself.
absl::Status EachPiece(const Box& box, int64_t most, const std::function<absl::Status(const Box&)>& take) {
  if (box.empty()) return absl::OkStatus();
  if (box.elements() <= most) return take(box);
  size_t d = 0;
  while (box.size[d] == 1) ++d;
  const int64_t rows = std::max<int64_t>(1, most / (box.elements() / box.size[d]));
  for (int64_t row = 0; row < box.size[d]; row += rows) {
    Box piece = box;
    piece.offset[d] += row;
    piece.size[d] = std::min(rows, box.size[d] - row);
    RETURN_IF_ERROR(EachPiece(piece, most, take));
  }
  return absl::OkStatus();
}

}  // namespace partita
