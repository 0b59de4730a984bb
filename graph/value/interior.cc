#include "graph/value/interior.h"

#include <algorithm>

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

}  // namespace partita
