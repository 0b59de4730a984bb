#include <algorithm>
#include <cstddef>

#include "runtime/device/cuda/kernels/strided_copy_kernel.h"
#include "runtime/device/strided_copy.h"

namespace partita {

unsigned StridedCopyArguments::blocks() const {
  constexpr int64_t kMostBlocks = 4096;
  return static_cast<unsigned>(std::min((accesses + kThreads - 1) / kThreads, kMostBlocks));
}

bool MakeStridedCopyArguments(const StridedCopy& copy, StridedCopyArguments& arguments) {
  if (copy.dimensions.size() > StridedCopyArguments::kDimensions) return false;
  // The lowest bit that is set in any of them is what divides all.
  uint64_t bits = reinterpret_cast<uintptr_t>(copy.from) | reinterpret_cast<uintptr_t>(copy.to) |
                  static_cast<uint64_t>(copy.run_bytes) | 16;
  for (const StridedCopy::Dimension& dimension : copy.dimensions) {
    bits |= static_cast<uint64_t>(dimension.from_stride) | static_cast<uint64_t>(dimension.to_stride);
  }
  arguments = {};
  arguments.from = copy.from;
  arguments.to = copy.to;
  arguments.width = static_cast<int>(bits & (~bits + 1));
  arguments.dimensions = 1 + static_cast<int>(copy.dimensions.size());
  arguments.size[0] = arguments.accesses = copy.run_bytes / arguments.width;
  arguments.from_stride[0] = arguments.to_stride[0] = arguments.width;
  for (size_t d = 0; d < copy.dimensions.size(); ++d) {
    arguments.size[d + 1] = copy.dimensions[d].size;
    arguments.from_stride[d + 1] = copy.dimensions[d].from_stride;
    arguments.to_stride[d + 1] = copy.dimensions[d].to_stride;
    arguments.accesses *= copy.dimensions[d].size;
  }
  return true;
}

}  // namespace partita
