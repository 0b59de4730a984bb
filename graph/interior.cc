#include "graph/interior.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

}  // namespace

Range InteriorOf(const Windows& windows, const Range& outputs, const Range& held, int64_t n) {
  const Range none{outputs.begin, outputs.begin};
  if (held.empty()) return none;
  Range interior = outputs;
  if (held.begin > 0) {  // the first window that begins in `held`
    interior.begin = std::max(interior.begin, -FloorDivide(-(held.begin + windows.before), windows.stride));
  }
  if (held.end < n) {  // behind the last window that ends in it
    const int64_t last = FloorDivide(held.end + windows.before - windows.extent, windows.stride);
    interior.end = std::min(interior.end, last + 1);
  }
  return interior.empty() ? none : interior;
}

std::vector<Box> Around(const Box& inner, const Box& whole) {
  CHECK(!inner.empty() && Intersect(inner, whole) == inner);
  std::vector<Box> parts;
  Box rest = whole;  // as `inner` in the dimensions done so far
  for (size_t d = 0; d < whole.size.size(); ++d) {
    const int64_t begin = inner.offset[d], end = begin + inner.size[d];
    const Range before{rest.offset[d], begin}, behind{end, rest.offset[d] + rest.size[d]};
    for (const Range& side : {before, behind}) {
      if (side.empty()) continue;
      Box& part = parts.emplace_back(rest);
      part.offset[d] = side.begin;
      part.size[d] = side.size();
    }
    rest.offset[d] = begin;
    rest.size[d] = inner.size[d];
  }
  return parts;
}

}  // namespace partita
