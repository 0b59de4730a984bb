#include "graph/value/shape.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

int64_t Elements(const Shape& shape) {
  int64_t elements = 1;
  for (int64_t size : shape) elements *= size;
  return elements;
}

absl::StatusOr<int64_t> CheckedElements(const Shape& shape) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() / 16;
  // A zero size makes the product zero, but the other sizes must still be sizes: check them without it.
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) return InvalidArgument("shape {} has a negative size", ToString(shape));
    if (size == 0) {
      empty = true;
    } else if (size > kLargest / product) {
      return InvalidArgument("shape {} has more than 2^59 elements", ToString(shape));
    } else {
      product *= size;
    }
  }
  return empty ? 0 : product;
}

std::string ToString(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

bool Box::empty() const {
  return std::any_of(size.begin(), size.end(), [](int64_t n) { return n == 0; });
}

Box WholeBox(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

Box Intersect(const Box& a, const Box& b) {
  Box common = a;
  for (size_t d = 0; d < a.size.size(); ++d) {
    const int64_t begin = std::max(a.offset[d], b.offset[d]);
    const int64_t end = std::min(a.offset[d] + a.size[d], b.offset[d] + b.size[d]);
    common.offset[d] = begin;
    common.size[d] = std::max<int64_t>(0, end - begin);
  }
  return common;
}

std::vector<Box> Around(const Box& inner, const Box& whole) {
  CHECK(!inner.empty() && Intersect(inner, whole) == inner);
  std::vector<Box> parts;
  Box rest = whole;  // as `inner` in the dimensions done so far
  for (size_t d = 0; d < whole.size.size(); ++d) {
    const int64_t begin = inner.offset[d], end = begin + inner.size[d];
    for (const auto& [from, to] : {std::pair(rest.offset[d], begin), std::pair(end, rest.offset[d] + rest.size[d])}) {
      if (from == to) continue;
      Box& part = parts.emplace_back(rest);
      part.offset[d] = from;
      part.size[d] = to - from;
    }
    rest.offset[d] = begin;
    rest.size[d] = inner.size[d];
  }
  return parts;
}

}  // namespace partita
