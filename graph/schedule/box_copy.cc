#include "graph/schedule/box_copy.h"

#include <algorithm>

namespace partita {

std::vector<int64_t> Counts(const std::vector<HeldBox>& boxes) {
  std::vector<int64_t> counts(boxes.size());
  std::transform(boxes.begin(), boxes.end(), counts.begin(), Count);
  return counts;
}

int64_t TotalCount(const std::vector<HeldBox>& boxes) {
  int64_t total = 0;
  for (const HeldBox& box : boxes) total += Count(box);
  return total;
}

HeldBox Held(const std::optional<Box>& box) { return box && !box->empty() ? box : std::nullopt; }

HeldBox Common(const HeldBox& a, const HeldBox& b) { return a && b ? Held(Intersect(*a, *b)) : std::nullopt; }

std::optional<int64_t> RunStart(const Box& part, const Box& whole) {
  int64_t start = 0;
  bool inside_run = false;  // an outer dimension has more than one index: all inner ones must be whole
  for (size_t d = 0; d < whole.size.size(); ++d) {
    if (inside_run && part.size[d] != whole.size[d]) return std::nullopt;
    inside_run = inside_run || part.size[d] > 1;
    start = start * whole.size[d] + part.offset[d] - whole.offset[d];
  }
  return start;
}

bool FollowEachOther(const std::vector<HeldBox>& blocks, const Box& whole) {
  int64_t next = 0;
  for (const HeldBox& block : blocks) {
    if (Count(block) == 0) continue;
    if (RunStart(*block, whole) != next) return false;
    next += block->elements();
  }
  return true;
}

BoxCopy CopyOf(const Box& part, const Box& from, const Box& to, DType dtype) {
  BoxCopy copy;
  copy.element_bytes = SizeOf(dtype);
  copy.from_shape = from.size;
  copy.to_shape = to.size;
  copy.size = part.size;
  for (size_t d = 0; d < part.size.size(); ++d) {
    copy.from_start.push_back(part.offset[d] - from.offset[d]);
    copy.to_start.push_back(part.offset[d] - to.offset[d]);
  }
  return copy;
}

std::vector<PlacedBox> PlacesIn(const HeldBox& whole, const std::vector<HeldBox>& blocks) {
  std::vector<PlacedBox> places(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (Count(blocks[b]) == 0) continue;
    places[b] = {0, whole->size, *blocks[b]};
    for (size_t d = 0; d < whole->size.size(); ++d) places[b].box.offset[d] -= whole->offset[d];
  }
  return places;
}

std::vector<PlacedBox> PackedPlaces(const std::vector<HeldBox>& blocks) {
  std::vector<PlacedBox> places(blocks.size());
  int64_t packed = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (Count(blocks[b]) == 0) continue;
    places[b] = {packed, blocks[b]->size, WholeBox(blocks[b]->size)};
    packed += blocks[b]->elements();
  }
  return places;
}

std::vector<BoxCopy> PackCopies(const std::vector<HeldBox>& blocks, const Box& whole, DType dtype) {
  std::vector<BoxCopy> copies;
  int64_t packed = 0;
  for (const HeldBox& block : blocks) {
    if (Count(block) == 0) continue;
    copies.push_back(CopyOf(*block, whole, *block, dtype));
    copies.back().to = packed;
    packed += block->elements() * SizeOf(dtype);
  }
  return copies;
}

std::vector<BoxCopy> UnpackCopies(const std::vector<HeldBox>& blocks, const Box& whole, DType dtype) {
  std::vector<BoxCopy> copies;
  int64_t packed = 0;
  for (const HeldBox& block : blocks) {
    if (Count(block) == 0) continue;
    copies.push_back(CopyOf(*block, *block, whole, dtype));
    copies.back().from = packed;
    packed += block->elements() * SizeOf(dtype);
  }
  return copies;
}

}  // namespace partita
