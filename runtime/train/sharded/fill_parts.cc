#include "runtime/train/sharded/fill_parts.h"

namespace partita {
namespace {

// Coordinates count from the piece's beginning.
void FillPart(const Box& piece, const char* bytes, HeldTensor part) {
  if (Intersect(piece, part.tensor.box).empty()) return;
  part.tensor.global = piece.size;
  for (size_t d = 0; d < piece.size.size(); ++d) part.tensor.box.offset[d] -= piece.offset[d];
  CopyToPart(bytes, part);
}

}  // namespace

void FillParts(const Box& piece, const char* bytes, std::span<const HeldTensor> parts) {
  for (const HeldTensor& part : parts) FillPart(piece, bytes, part);
}

}  // namespace partita
