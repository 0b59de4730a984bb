#include "runtime/device/strided_copy.h"

#include <cstring>

#include "runtime/base/check.h"

namespace partita {
namespace {

// A run whose length the compiler knows is a register, not a call.
template <int64_t kBytes>
void CopyRuns(const char* from, char* to, const StridedCopy::Dimension& inner) {
  for (int64_t i = 0; i < inner.size; ++i) {
    std::memcpy(to + i * inner.to_stride, from + i * inner.from_stride, kBytes);
  }
}

void CopyRuns(const char* from, char* to, int64_t run_bytes, const StridedCopy::Dimension& inner) {
  if (run_bytes == 4) return CopyRuns<4>(from, to, inner);
  if (run_bytes == 8) return CopyRuns<8>(from, to, inner);
  for (int64_t i = 0; i < inner.size; ++i) {
    std::memcpy(to + i * inner.to_stride, from + i * inner.from_stride, static_cast<size_t>(run_bytes));
  }
}

}  // namespace

void StridedCopy::Begin(const void* from, void* to, int64_t element_bytes) {
  this->from = static_cast<const char*>(from);
  this->to = static_cast<char*>(to);
  run_bytes = element_bytes;
  dimensions.clear();
}

void StridedCopy::Repeat(int64_t size, int64_t from_stride, int64_t to_stride) {
  if (size == 1) return;
  if (dimensions.empty() && from_stride == run_bytes && to_stride == run_bytes) {
    run_bytes *= size;
    return;
  }
  if (!dimensions.empty()) {
    Dimension& outermost = dimensions.back();
    if (from_stride == outermost.from_stride * outermost.size && to_stride == outermost.to_stride * outermost.size) {
      outermost.size *= size;
      return;
    }
  }
  dimensions.push_back({size, from_stride, to_stride});
}

void RunStridedCopy(const StridedCopy& copy) {
  if (copy.run_bytes == 0) return;
  if (copy.dimensions.empty()) {
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.run_bytes));
    return;
  }
  CHECK(copy.dimensions.size() <= StridedCopy::kMostDimensions);
  int64_t index[StridedCopy::kMostDimensions] = {};
  const char* from = copy.from;
  char* to = copy.to;
  while (true) {
    CopyRuns(from, to, copy.run_bytes, copy.dimensions[0]);
    size_t d = 1;
    for (; d < copy.dimensions.size(); ++d) {
      const StridedCopy::Dimension& dimension = copy.dimensions[d];
      from += dimension.from_stride;
      to += dimension.to_stride;
      if (++index[d] < dimension.size) break;
      from -= dimension.from_stride * dimension.size;
      to -= dimension.to_stride * dimension.size;
      index[d] = 0;
    }
    if (d >= copy.dimensions.size()) return;
  }
}

}  // namespace partita
