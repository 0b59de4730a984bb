#include "runtime/train/sharded/finite_check.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "runtime/base/bf16.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

template <typename T>
std::optional<int64_t> FirstNonFinite(std::span<const std::byte> bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + begin, sizeof(T));
    if (!std::isfinite(static_cast<Compute<T>>(value))) return static_cast<int64_t>(begin / sizeof(T));
  }
  return std::nullopt;
}

std::optional<int64_t> FirstNonFinite(DType dtype, std::span<const std::byte> bytes) {
  if (dtype == DType::kF32) return FirstNonFinite<float>(bytes);
  if (dtype == DType::kF64) return FirstNonFinite<double>(bytes);
  if (dtype == DType::kBF16) return FirstNonFinite<Bf16>(bytes);
  return std::nullopt;
}

// The place in the whole tensor of an element of a part.
int64_t PlaceInWhole(int64_t element, const LocalTensor& part) {
  int64_t place = 0, stride = 1;
  for (size_t d = part.global.size(); d > 0; --d) {
    place += (element % part.box.size[d - 1] + part.box.offset[d - 1]) * stride;
    element /= part.box.size[d - 1];
    stride *= part.global[d - 1];
  }
  return place;
}

}  // namespace

void FiniteCheck::Look(const std::string& name, const LocalTensor& tensor, std::span<const std::byte> bytes) {
  ++looked_at_;
  const std::optional<int64_t> element = FirstNonFinite(tensor.dtype, bytes);
  if (!element || broken_++ > 0) return;
  first_ = fmt::format("element {} of '{}'", PlaceInWhole(*element, tensor), name);
}

absl::Status FiniteCheck::Result(const std::string& path) const {
  if (broken_ == 0) return absl::OkStatus();
  return OutOfRange("{}: not written: {} is not finite; {} of {} tensors have such values", path, first_, broken_,
                    looked_at_);
}

}  // namespace partita
