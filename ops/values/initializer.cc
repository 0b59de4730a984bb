#include "ops/values/initializer.h"

#include <cmath>
#include <functional>
#include <limits>

#include "ops/forms/op_checks.h"
#include "runtime/base/bf16.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

enum class Distribution { kConstant, kUniform, kNormal };

// A value is width * draw; draw is 1, uniform in [-1, 1) or normal.
struct Sampler {
  Distribution distribution = Distribution::kConstant;
  double width = 0;
};

struct Fans {
  double in = 0;
  double out = 0;
};

Fans FansOf(const Shape& shape) {
  const auto size = [&](size_t d) { return static_cast<double>(shape[d]); };
  if (shape.size() == 2) return {size(0), size(1)};
  return {size(1) * size(2) * size(3), size(0) * size(1) * size(2)};
}

bool NeedsFans(const std::string& initializer) {
  return initializer != "constant" && initializer != "uniform" && initializer != "normal";
}

Sampler SamplerOf(const std::string& initializer, double scale, const Shape& shape) {
  if (initializer == "constant") return {Distribution::kConstant, scale};
  if (initializer == "uniform") return {Distribution::kUniform, scale};
  if (initializer == "normal") return {Distribution::kNormal, scale};
  const Fans fans = FansOf(shape);
  if (initializer == "he_normal") return {Distribution::kNormal, scale * std::sqrt(2 / fans.in)};
  if (initializer == "he_uniform") return {Distribution::kUniform, scale * std::sqrt(6 / fans.in)};
  if (initializer == "glorot_normal") return {Distribution::kNormal, scale * std::sqrt(2 / (fans.in + fans.out))};
  return {Distribution::kUniform, scale * std::sqrt(6 / (fans.in + fans.out))};
}

// Draws by global index. Neighbours share a block of four random words, which is kept.
class Drawer {
 public:
  Drawer(Sampler sampler, uint64_t key) : sampler_(sampler), key_(key) {}

  double Draw(uint64_t index) {
    if (sampler_.distribution == Distribution::kConstant) return sampler_.width;
    if (index / 4 != block_) {
      block_ = index / 4;
      words_ = RandomBlock(key_, 0, block_);
    }
    const uint64_t lane = index % 4;
    if (sampler_.distribution == Distribution::kUniform) {
      return sampler_.width * (2.0 * static_cast<double>(ToUniform(words_.lane[lane])) - 1.0);
    }
    const uint64_t pair = lane / 2 * 2;
    return sampler_.width * ToNormal(words_.lane[pair], words_.lane[pair + 1], lane % 2 == 1);
  }

 private:
  Sampler sampler_;
  uint64_t key_;
  uint64_t block_ = std::numeric_limits<uint64_t>::max();
  PhiloxBlock words_{};
};

// Calls visit(global index of the first element, count) for each contiguous row of the box.
void ForEachRow(const Shape& global, const Box& box, const std::function<void(uint64_t, int64_t)>& visit) {
  if (box.empty()) return;
  if (global.empty()) return visit(0, 1);
  const size_t last = global.size() - 1;
  std::vector<int64_t> position(last, 0);
  for (;;) {
    uint64_t index = 0;
    for (size_t d = 0; d < last; ++d) index = index * global[d] + box.offset[d] + position[d];
    visit(index * global[last] + box.offset[last], box.size[last]);
    size_t d = last;
    while (d > 0 && ++position[d - 1] == box.size[d - 1]) position[--d] = 0;
    if (d == 0) return;
  }
}

template <typename T>
void Fill(Drawer drawer, const Shape& global, const Box& box, T* data) {
  ForEachRow(global, box, [&](uint64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) *data++ = static_cast<T>(drawer.Draw(first + i));
  });
}

}  // namespace

std::vector<std::string> InitializerNames() {
  return {"constant", "uniform", "normal", "he_normal", "he_uniform", "glorot_normal", "glorot_uniform"};
}

absl::Status CheckConstant(const std::string& attribute, double value, DType dtype) {
  if (!std::isfinite(value)) return InvalidArgument("attribute {} is {}; it must be finite", attribute, value);
  if (dtype == DType::kF64) return absl::OkStatus();
  if (IsFloating(dtype)) {
    const bool holds = dtype == DType::kF32 ? std::abs(value) <= std::numeric_limits<float>::max()
                                            : std::isfinite(static_cast<float>(Bf16(value)));
    if (holds) return absl::OkStatus();
    return InvalidArgument("attribute {} is {}; an {} holds at most 3.4e38", attribute, value, Name(dtype));
  }
  const double least = dtype == DType::kI32 ? -2147483648.0 : 0.0;
  const double most = dtype == DType::kI32 ? 2147483647.0 : 255.0;
  if (value == std::floor(value) && value >= least && value <= most) return absl::OkStatus();
  return InvalidArgument("attribute {} is {}; an {} holds whole numbers from {} to {}", attribute, value, Name(dtype),
                         least, most);
}

absl::Status CheckInitializer(const Attributes& attributes, DType dtype, const Shape& shape) {
  RETURN_IF_ERROR(CheckChoice(attributes, "initializer", InitializerNames()));
  const std::string& initializer = attributes.String("initializer");
  const double scale = attributes.Float("scale");
  if (initializer == "constant") return CheckConstant("scale", scale, dtype);
  RETURN_IF_ERROR(CheckPositive(attributes, "scale"));
  if (!IsFloating(dtype)) {
    return InvalidArgument("initializer {} gives f32 or f64, not {}; constant is allowed", initializer, Name(dtype));
  }
  if (NeedsFans(initializer) && shape.size() != 2 && shape.size() != 4) {
    return InvalidArgument(
        "initializer {} needs a shape [in,out] or [out,h,w,in], not {}; normal, uniform and "
        "constant are allowed",
        initializer, ToString(shape));
  }
  // A normal draw is at most 5.8.
  return CheckConstant("scale", 6 * SamplerOf(initializer, scale, shape).width, dtype);
}

absl::Status Initialize(const Attributes& attributes, DType dtype, const Shape& global, const Box& box, uint64_t seed,
                        const std::string& name, void* data) {
  RETURN_IF_ERROR(CheckInitializer(attributes, dtype, global));
  const Sampler sampler = SamplerOf(attributes.String("initializer"), attributes.Float("scale"), global);
  const Drawer drawer(sampler, PhiloxKey(seed, name));
  switch (dtype) {
    case DType::kF32:
      Fill(drawer, global, box, static_cast<float*>(data));
      break;
    case DType::kF64:
      Fill(drawer, global, box, static_cast<double*>(data));
      break;
    case DType::kI32:
      Fill(drawer, global, box, static_cast<int32_t*>(data));
      break;
    case DType::kU8:
      Fill(drawer, global, box, static_cast<uint8_t*>(data));
      break;
    case DType::kBF16:
      Fill(drawer, global, box, static_cast<Bf16*>(data));
      break;
  }
  return absl::OkStatus();
}

}  // namespace partita
