#include "runtime/exec/copy_kernel.h"

#include <utility>

#include "runtime/base/status.h"

namespace partita {

StridedCopy MakeStridedCopy(const BoxCopy& copy, const void* from, void* to) {
  StridedCopy strided;
  strided.Begin(static_cast<const char*>(from) + copy.from, static_cast<char*>(to) + copy.to, copy.element_bytes);
  int64_t from_stride = copy.element_bytes, to_stride = copy.element_bytes;
  for (size_t i = copy.size.size(); i-- > 0;) {
    if (copy.size[i] == 0) return {};
    strided.from += copy.from_start[i] * from_stride;
    strided.to += copy.to_start[i] * to_stride;
    strided.Repeat(copy.size[i], from_stride, to_stride);
    from_stride *= copy.from_shape[i];
    to_stride *= copy.to_shape[i];
  }
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
