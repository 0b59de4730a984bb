#include "runtime/exec/copy_kernel.h"

#include <utility>

#include "runtime/base/status.h"

namespace partita {

StridedCopy MakeStridedCopy(const BoxCopy& copy, const void* from, void* to) {
  StridedCopy strided;
  const int64_t element = copy.element_bytes;
  int64_t from_stride = element, to_stride = element;
  int64_t from_start = 0, to_start = 0;
  int64_t run = element;
  for (size_t i = copy.size.size(); i-- > 0;) {
    const int64_t size = copy.size[i];
    if (size == 0) return {};
    from_start += copy.from_start[i] * from_stride;
    to_start += copy.to_start[i] * to_stride;
    auto& dimensions = strided.dimensions;
    if (size == 1) {
    } else if (dimensions.empty() && from_stride == run && to_stride == run) {
      run *= size;
    } else if (!dimensions.empty() && from_stride == dimensions.back().from_stride * dimensions.back().size &&
               to_stride == dimensions.back().to_stride * dimensions.back().size) {
      dimensions.back().size *= size;
    } else {
      dimensions.push_back({size, from_stride, to_stride});
    }
    from_stride *= copy.from_shape[i];
    to_stride *= copy.to_shape[i];
  }
  strided.from = static_cast<const char*>(from) + copy.from + from_start;
  strided.to = static_cast<char*>(to) + copy.to + to_start;
  strided.run_bytes = run;
  return strided;
}

CopyKernel::CopyKernel(const CopyLaunch& launch, void* arena)
    : zero_(static_cast<char*>(arena) + launch.zero.offset), zero_bytes_(launch.zero.bytes) {
  for (const BoxCopy& copy : launch.copies) {
    StridedCopy strided = MakeStridedCopy(copy, arena, arena);
    if (strided.run_bytes == 0 || strided.from == strided.to) continue;  // a box onto itself is there already
    copies_.push_back(std::move(strided));
  }
}

absl::Status CopyKernel::Launch(Stream& stream) {
  if (zero_bytes_ > 0) RETURN_IF_ERROR(stream.Zero(zero_, zero_bytes_));
  for (const StridedCopy& copy : copies_) RETURN_IF_ERROR(stream.CopyStrided(copy));
  return absl::OkStatus();
}

}  // namespace partita
