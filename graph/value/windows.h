// Windows that slide along one dimension of a tensor, as convolutions and poolings need them: output o reads `extent`
// elements from o * stride - before on (extent = dilation * (kernel - 1) + 1).
//
// A tensor split by windows is split in outputs: the block of a rank is what its outputs read, from the first element
// of its first window to the last one of its last. Such blocks overlap, may skip elements, and may extend beyond the
// ends of the tensor (docs/papers.md 2.2).
#ifndef PARTITA_GRAPH_VALUE_WINDOWS_H_
#define PARTITA_GRAPH_VALUE_WINDOWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Elements [begin, end).
struct Range {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const Range&) const = default;
};

// The common part; an empty one if they do not meet.
Range Overlap(const Range& a, const Range& b);

struct Windows {
  int64_t count = 1;  // outputs
  int64_t extent = 1, stride = 1, before = 0;
  // What lies beyond the ends of the tensor: zeros that belong to the block (the margin), or nothing (clipped).
  bool clipped = false;
  // What blocks have in common: copies of the tensor's elements, or summands of them (the cotangent of copies).
  bool summed = false;

  bool operator==(const Windows&) const = default;
};

// What the windows of `outputs` span, the margin included; empty (at the first window) if there are no outputs.
Range SpanOf(const Windows& windows, const Range& outputs);

// What a block of a tensor of n elements holds for `outputs`: the span, clipped where the windows are. Never negative
// in size.
Range BlockOf(const Windows& windows, const Range& outputs, int64_t n);

// Where to cut the outputs so that a window stays with the block, of those that `cuts` make, in which its middle lies:
// most of what a block then needs is there already. Rises from 0 to windows.count.
std::vector<int64_t> OutputCuts(const Windows& windows, const std::vector<int64_t>& cuts);

// "28x3/1-1": 28 windows of 3 elements, each 1 after the other, the first one beginning at -1; then ",clipped" and
// ",sum" where they hold.
std::string ToString(const Windows& windows);
absl::StatusOr<Windows> ParseWindows(const std::string& text);

// Refuses counts, extents and strides below 1, a negative `before`, and spans that leave 62 bits.
absl::Status CheckWindows(const Windows& windows);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_WINDOWS_H_
