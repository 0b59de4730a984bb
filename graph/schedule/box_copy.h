// Boxes of dense row-major tensors as bytes: when a box is one run, when blocks follow each other, how one is copied.
#ifndef PARTITA_GRAPH_SCHEDULE_BOX_COPY_H_
#define PARTITA_GRAPH_SCHEDULE_BOX_COPY_H_

#include <optional>
#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

// What a rank holds; nullopt: nothing (an At elsewhere, or no elements).
using HeldBox = std::optional<Box>;

inline int64_t Count(const HeldBox& box) { return box ? box->elements() : 0; }
std::vector<int64_t> Counts(const std::vector<HeldBox>& boxes);
int64_t TotalCount(const std::vector<HeldBox>& boxes);

// Nothing if the box is empty.
HeldBox Held(const std::optional<Box>& box);
HeldBox Common(const HeldBox& a, const HeldBox& b);

// Where `part` begins in `whole` (elements of its row-major order), if its elements are one run there. `part` lies
// inside `whole` and is not empty.
std::optional<int64_t> RunStart(const Box& part, const Box& whole);

// True if the blocks follow each other in `whole` in their order, from its beginning and without gaps: packing or
// unpacking them would only copy equal bytes.
bool FollowEachOther(const std::vector<HeldBox>& blocks, const Box& whole);

// Copies `part` of the global tensor from where it lies in `from` to where it lies in `to`. Offsets 0.
BoxCopy CopyOf(const Box& part, const Box& from, const Box& to, DType dtype);

// For all_to_all of boxes: where blocks lie in a tensor that holds `whole` (nullopt: nothing, and no blocks either), or
// one after the other.
std::vector<PlacedBox> PlacesIn(const HeldBox& whole, const std::vector<HeldBox>& blocks);
std::vector<PlacedBox> PackedPlaces(const std::vector<HeldBox>& blocks);

// The blocks one after the other <-> their places in `whole`. Offsets are relative to the two tensors.
std::vector<BoxCopy> PackCopies(const std::vector<HeldBox>& blocks, const Box& whole, DType dtype);
std::vector<BoxCopy> UnpackCopies(const std::vector<HeldBox>& blocks, const Box& whole, DType dtype);

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_BOX_COPY_H_
