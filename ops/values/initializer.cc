#include "ops/values/initializer.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

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

constexpr char kValues[] = "values";

bool NeedsFans(const std::string& initializer) {
  return initializer != "constant" && initializer != kValues && initializer != "uniform" && initializer != "normal";
}

// The number at the front of the text, which loses it; none: something else stands there.
template <typename T>
bool TakeNumber(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "0,1.5x3,-2": numbers between commas; "1.5x3" repeats 1.5 three times. All fit the element type, and there are
// exactly `count`.
absl::StatusOr<std::vector<double>> ParseValues(std::string_view text, DType dtype, int64_t count) {
  const std::string_view whole = text;
  std::vector<double> values;
  while (!text.empty()) {
    const size_t at = whole.size() - text.size();
    double value = 0;
    int64_t times = 1;
    bool good = (at == 0 || (text.front() == ',' && text.size() > 1)) && !text.starts_with("x");
    if (good && at > 0) text.remove_prefix(1);
    good = good && TakeNumber(text, value);
    if (good && text.starts_with('x')) {
      text.remove_prefix(1);
      good = TakeNumber(text, times) && times >= 1;
    }
    if (!good || (!text.empty() && text.front() != ',')) {
      return InvalidArgument("attribute values has '{}' at position {}; expected numbers between commas, as 1,0x3",
                             std::string(whole.substr(at, 20)), at);
    }
    RETURN_IF_ERROR(CheckConstant(kValues, value, dtype));
    if (times > count - static_cast<int64_t>(values.size())) {
      return InvalidArgument("attribute values has more than the {} numbers of its shape", count);
    }
    values.insert(values.end(), static_cast<size_t>(times), value);
  }
  if (static_cast<int64_t>(values.size()) == count) return values;
  return InvalidArgument("attribute values has {} numbers; its shape has {}", values.size(), count);
}

absl::StatusOr<std::vector<double>> ValuesOf(const Attributes& attributes, DType dtype, const Shape& shape) {
  const Attribute* const text = attributes.Find(kValues);
  if (text == nullptr) return InvalidArgument("initializer values needs the attribute values");
  return ParseValues(std::get<std::string>(*text), dtype, Elements(shape));
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
void Fill(const std::function<double(uint64_t)>& value_at, const Shape& global, const Box& box, T* data) {
  ForEachRow(global, box, [&](uint64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) *data++ = static_cast<T>(value_at(first + i));
  });
}

}  // namespace

std::vector<std::string> InitializerNames() {
  return {"constant", "values", "uniform", "normal", "he_normal", "he_uniform", "glorot_normal", "glorot_uniform"};
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
  if (initializer == kValues) return ValuesOf(attributes, dtype, shape).status();
  RETURN_IF_ERROR(CheckPositive(attributes, "scale"));
  if (!IsFloating(dtype)) {
    return InvalidArgument("initializer {} gives f32 or f64, not {}; constant and values are allowed", initializer,
                           Name(dtype));
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
  const std::string& initializer = attributes.String("initializer");
  std::vector<double> values;
  std::function<double(uint64_t)> value_at = [&values](uint64_t index) { return values[index]; };
  if (initializer == kValues) {
    ASSIGN_OR_RETURN(values, ValuesOf(attributes, dtype, global));
  } else {
    Drawer drawer(SamplerOf(initializer, attributes.Float("scale"), global), PhiloxKey(seed, name));
    value_at = [drawer](uint64_t index) mutable { return drawer.Draw(index); };
  }
  switch (dtype) {
    case DType::kF32:
      Fill(value_at, global, box, static_cast<float*>(data));
      break;
    case DType::kF64:
      Fill(value_at, global, box, static_cast<double*>(data));
      break;
    case DType::kI32:
      Fill(value_at, global, box, static_cast<int32_t*>(data));
      break;
    case DType::kU8:
      Fill(value_at, global, box, static_cast<uint8_t*>(data));
      break;
    case DType::kBF16:
      Fill(value_at, global, box, static_cast<Bf16*>(data));
      break;
  }
  return absl::OkStatus();
}

}  // namespace partita
