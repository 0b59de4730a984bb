#include "runtime/exec/copy_kernel.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/device/host/host_stream.h"

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

// Calls visit(from, to) for every innermost row of runs; `index` has room for all dimensions.
template <typename Visit>
absl::Status ForEachRow(const StridedCopy& copy, std::vector<int64_t>& index, const Visit& visit) {
  std::fill(index.begin(), index.end(), 0);
  const char* from = copy.from;
  char* to = copy.to;
  while (true) {
    RETURN_IF_ERROR(visit(from, to));
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
    if (d >= copy.dimensions.size()) return absl::OkStatus();
  }
}

absl::Status CopyOnStream(const StridedCopy& copy, std::vector<int64_t>& index, Stream& stream) {
  if (copy.dimensions.empty()) return stream.Copy(copy.to, copy.from, copy.run_bytes);
  return ForEachRow(copy, index, [&](const char* from, char* to) -> absl::Status {
    const StridedCopy::Dimension& inner = copy.dimensions[0];
    for (int64_t i = 0; i < inner.size; ++i) {
      RETURN_IF_ERROR(stream.Copy(to + i * inner.to_stride, from + i * inner.from_stride, copy.run_bytes));
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RunStridedCopy(const StridedCopy& copy, std::vector<int64_t>& index) {
  if (copy.dimensions.empty()) {
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.run_bytes));
    return;
  }
  ForEachRow(copy, index, [&](const char* from, char* to) {
    CopyRuns(from, to, copy.run_bytes, copy.dimensions[0]);
    return absl::OkStatus();
  }).IgnoreError();
}

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
  size_t dimensions = 0;
  for (const BoxCopy& copy : launch.copies) {
    StridedCopy strided = MakeStridedCopy(copy, arena, arena);
    if (strided.run_bytes == 0 || strided.from == strided.to) continue;  // a box onto itself is there already
    dimensions = std::max(dimensions, strided.dimensions.size());
    copies_.push_back(std::move(strided));
  }
  index_.resize(dimensions);
}

absl::Status CopyKernel::Launch(Stream& stream) {
  auto* const host = dynamic_cast<HostStream*>(&stream);
  const bool one_run = copies_.size() == 1 && copies_[0].dimensions.empty();
  if (host != nullptr && !copies_.empty() && !(one_run && zero_bytes_ == 0)) return host->Enqueue({Run, this});
  if (zero_bytes_ > 0) RETURN_IF_ERROR(stream.Zero(zero_, zero_bytes_));
  for (const StridedCopy& copy : copies_) RETURN_IF_ERROR(CopyOnStream(copy, index_, stream));
  return absl::OkStatus();
}

absl::Status CopyKernel::Run(void* self) {
  auto& kernel = *static_cast<CopyKernel*>(self);
  if (kernel.zero_bytes_ > 0) std::memset(kernel.zero_, 0, static_cast<size_t>(kernel.zero_bytes_));
  for (const StridedCopy& copy : kernel.copies_) RunStridedCopy(copy, kernel.index_);
  return absl::OkStatus();
}

}  // namespace partita
