#include "runtime/exec/watch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/bf16.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

template <typename T>
bool AllFinite(const void* data, int64_t elements) {
  const T* const values = static_cast<const T*>(data);
  return std::all_of(values, values + elements, [](T value) { return std::isfinite(static_cast<Compute<T>>(value)); });
}

absl::Status RunWatch(void* watch) {
  static_cast<Watch*>(watch)->Run();
  return absl::OkStatus();
}

}  // namespace

bool AllFinite(const void* data, int64_t elements, DType dtype) {
  if (dtype == DType::kF32) return AllFinite<float>(data, elements);
  if (dtype == DType::kF64) return AllFinite<double>(data, elements);
  if (dtype == DType::kBF16) return AllFinite<Bf16>(data, elements);
  return true;
}

void Watch::Run() {
  switch (kind) {
    case Kind::kCopy:
      std::memcpy(copy->data(), data, static_cast<size_t>(bytes));
      return;
    case Kind::kFinite:
      finite = AllFinite(data, bytes / SizeOf(dtype), dtype);
      return;
    case Kind::kPoison:
      std::memset(data, kPoisonByte, static_cast<size_t>(bytes));
      return;
  }
}

absl::Status Watch::Enqueue(Stream& stream) {
  auto* const host = dynamic_cast<HostStream*>(&stream);
  if (host != nullptr) return host->Enqueue({RunWatch, this});
  if (kind == Kind::kCopy) return stream.Copy(copy->data(), data, bytes);
  return InvalidArgument("stream '{}': only host streams look for values or poison them", stream.name());
}

}  // namespace partita
