#include "ops/cuda/kernel/boxes.h"

#include "runtime/base/status.h"
#include "runtime/exec/copy_kernel.h"

namespace partita {

absl::Status CheckBox(const BoxCopy& copy) {
  if (copy.size.size() <= launch::StridedBox::kMaxDimensions) return absl::OkStatus();
  return InvalidArgument("a copy has {} dimensions, allowed are {}", copy.size.size(),
                         launch::StridedBox::kMaxDimensions);
}

launch::StridedBox MakeStridedBox(const BoxCopy& copy, const void* from, void* to) {
  const StridedCopy strided = MakeStridedCopy(copy, from, to);
  launch::StridedBox box;
  box.from = strided.from;
  box.to = strided.to;
  box.run_bytes = strided.run_bytes;
  for (const StridedCopy::Dimension& dimension : strided.dimensions) {
    box.size[box.dimensions] = dimension.size;
    box.from_stride[box.dimensions] = dimension.from_stride;
    box.to_stride[box.dimensions++] = dimension.to_stride;
  }
  return box;
}

}  // namespace partita
