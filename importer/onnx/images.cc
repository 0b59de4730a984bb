// Pools, and images that become larger or smaller.
#include <algorithm>
#include <cmath>

#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"
#include "importer/onnx/windows.h"

namespace partita::onnx {
namespace {

Sizes WithWindows(const Value& x, const Sizes& counts) {
  Sizes sizes = {x.sizes[0], x.sizes[1]};
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  return sizes;
}

absl::Status Pool(Lowering& l) {
  ASSIGN_OR_RETURN(Value x, l.In(0));
  if (l.Gives(1)) return InvalidArgument("the places of the largest elements are read");
  ASSIGN_OR_RETURN(Windows windows, WindowsOf(l, x, l.List("kernel_shape")));
  ASSIGN_OR_RETURN(const Sizes counts, WindowCounts(windows, x, l.Integer("ceil_mode", 0) != 0));
  const bool largest = l.op() == "MaxPool", counts_padding = l.Integer("count_include_pad", 0) != 0;
  if (!largest && counts_padding && windows.begin != windows.end) {  // PyTorch's padding is the same on both sides
    Sizes padded = x.sizes;
    IntList around;
    for (size_t d = windows.sides(); d-- > 0;) {
      padded[2 + d].value += windows.begin[d] + windows.end[d];
      around.push_back(windows.begin[d]);
      around.push_back(windows.end[d]);
      windows.begin[d] = windows.end[d] = 0;
    }
    x = l.Add("pad", {{"self", NameOf(x)}, {"pad", ListOf(around)}, {"value", 0.0}}, x.type, std::move(padded));
  }
  for (size_t d = 0; d < windows.sides(); ++d) {
    if (windows.begin[d] >= windows.kernel[d]) return InvalidArgument("padding of a whole window");
  }
  Arguments arguments = {{"self", NameOf(x)},
                         {"kernel_size", ListOf(windows.kernel)},
                         {"stride", ListOf(windows.stride)},
                         {"padding", ListOf(windows.begin)},
                         {"dilation", ListOf(windows.dilation)}};
  if (!largest) arguments["count_include_pad"] = counts_padding;
  const std::string op = fmt::format("{}_pool{}d", largest ? "max" : "avg", windows.sides());
  return l.Result(op, std::move(arguments), x.type, WithWindows(x, counts));
}

absl::Status GlobalPool(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  if (x.rank() < 3 || x.rank() > 5) return InvalidArgument("its input has {} dimensions; expected 3 to 5", x.rank());
  const size_t sides = x.rank() - 2;
  const bool largest = l.op() == "GlobalMaxPool";
  const Sizes sizes = WithWindows(x, Sizes(sides, Size{1}));
  if (largest && sides == 3) {
    return l.Result("amax", {{"self", NameOf(x)}, {"dim", ListOf(std::vector<size_t>{2, 3, 4})}, {"keepdim", true}},
                    x.type, sizes);
  }
  const std::string op = fmt::format("adaptive_{}_pool{}d", largest ? "max" : "avg", sides);
  return l.Result(op, {{"self", NameOf(x)}, {"output_size", ListOf(IntList(sides, 1))}}, x.type, sizes);
}

// One dimension of a resize: from `size` to `made` elements.
struct Side {
  int64_t size = 1, made = 1;
  double scale = 1;
};

// Where element i of the result lies, as the file says.
double Place(const Side& side, const std::string& mode, int64_t i) {
  const auto at = static_cast<double>(i);
  if (mode == "align_corners") {
    const double made = static_cast<double>(side.size) * side.scale;  // not rounded
    return made == 1 ? 0 : at * static_cast<double>(side.size - 1) / (made - 1);
  }
  if (mode == "asymmetric") return at / side.scale;
  if (mode == "pytorch_half_pixel" && side.made == 1) return 0;
  return (at + 0.5) / side.scale - 0.5;
}

int64_t Nearest(const Side& side, double place, const std::string& mode) {
  const double rounded = mode == "floor"               ? std::floor(place)
                         : mode == "ceil"              ? std::ceil(place)
                         : mode == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                       : std::ceil(place - 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(rounded), 0, side.size - 1);
}

// Of PyTorch's ways to place elements the one that places all as the file does; nothing: none does.
template <typename Same>
std::optional<bool> Way(const std::vector<Side>& sides, Same same) {
  for (const bool way : {false, true}) {
    const bool all = std::ranges::all_of(sides, [&](const Side& side) {
      for (int64_t i = 0; i < side.made; ++i) {
        if (!same(side, i, way)) return false;
      }
      return true;
    });
    if (all) return way;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Side>> SidesOf(Lowering& l, const Value& x) {
  const bool old = l.op() == "Upsample" || l.opset() < 11;
  const size_t of_scales = old ? 1 : 2;
  std::vector<double> scales, made;
  if (const Attribute* const factors = l.Find("scales"); factors != nullptr) scales = factors->numbers;
  for (const auto& [i, list] : {std::pair(of_scales, &scales), {size_t{3}, &made}}) {
    if (!l.Has(i)) continue;
    ASSIGN_OR_RETURN(const std::vector<Number> numbers, l.Numbers(i));
    for (const Number& number : numbers) list->push_back(number.value);
  }
  std::vector<size_t> axes;
  for (size_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  if (l.HasAttribute("axes")) {
    constexpr size_t kNone = 99;
    ASSIGN_OR_RETURN(axes, l.Axes(kNone, x.rank()));
  }
  const std::vector<double>& given = made.empty() ? scales : made;
  if (given.size() != axes.size())
    return InvalidArgument("it has {} scales or sizes for {} axes", given.size(), axes.size());
  std::vector<Side> sides(x.rank());
  for (size_t d = 0; d < x.rank(); ++d) sides[d].size = sides[d].made = x.sizes[d].value;
  for (size_t i = 0; i < axes.size(); ++i) {
    Side& side = sides[axes[i]];
    const auto size = static_cast<double>(side.size);
    side.scale = made.empty() ? scales[i] : made[i] / size;
    const double result = made.empty() ? std::floor(size * scales[i]) : made[i];
    if (!(result >= 1) || result > static_cast<double>(int64_t{1} << 24)) return InvalidArgument("{} elements", result);
    if (axes[i] < 2 && result != size) return InvalidArgument("it resizes samples or channels");
    side.made = static_cast<int64_t>(result);
  }
  sides.erase(sides.begin(), sides.begin() + 2);
  return sides;
}

absl::Status Resize(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  if (x.rank() < 3 || x.rank() > 5) return InvalidArgument("its input has {} dimensions; expected 3 to 5", x.rank());
  if (l.Integer("antialias", 0) != 0 || l.Integer("exclude_outside", 0) != 0 ||
      l.Text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return InvalidArgument("resizing that is smoothed, leaves out what lies outside, or keeps the ratio of sides");
  }
  ASSIGN_OR_RETURN(const std::vector<Side> sides, SidesOf(l, x));
  const bool old = l.op() == "Upsample" || l.opset() < 11;
  const std::string mode = l.Text("mode", "nearest"),
                    places = l.Text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
                    nearest = l.Text("nearest_mode", old ? "floor" : "round_prefer_floor");
  static const auto& known = *new std::map<std::string, int>{
      {"half_pixel", 0}, {"pytorch_half_pixel", 0}, {"align_corners", 0}, {"asymmetric", 0}};
  if (!known.contains(places)) return InvalidArgument("coordinate_transformation_mode is {}", places);
  constexpr const char* kLinear[] = {"upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"};
  const size_t count = sides.size();
  Arguments arguments;
  std::string op;
  if (mode == "nearest") {
    const std::optional<bool> exact = Way(sides, [&](const Side& side, int64_t i, bool way) {
      const double at = (static_cast<double>(i) + (way ? 0.5 : 0)) / side.scale;
      const int64_t here = std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, side.size - 1);
      return here == Nearest(side, Place(side, places, i), nearest);
    });
    if (!exact || (*exact && count == 3)) return InvalidArgument("PyTorch takes other nearest elements");
    op = fmt::format("{}{}d", *exact ? "_upsample_nearest_exact" : "upsample_nearest", count);
  } else {
    const bool cubic = mode == "cubic";
    constexpr double kNear = 1e-6;
    if (cubic && (count != 2 || std::abs(l.Float("cubic_coeff_a", -0.75) + 0.75) > kNear)) {
      return InvalidArgument("a cubic with other coefficients than PyTorch's, or not of images");
    }
    const std::optional<bool> aligned = Way(sides, [&](const Side& side, int64_t i, bool way) {
      const double most = cubic ? 1e9 : static_cast<double>(side.size - 1), least = cubic ? -1e9 : 0;
      const double step = side.made == 1 ? 0 : static_cast<double>(side.size - 1) / static_cast<double>(side.made - 1);
      const double here = way ? step * static_cast<double>(i) : Place(side, "half_pixel", i);
      return std::abs(std::clamp(here, least, most) - std::clamp(Place(side, places, i), least, most)) < kNear;
    });
    if (!aligned) return InvalidArgument("PyTorch places other elements ({})", places);
    op = cubic ? "upsample_bicubic2d" : kLinear[count - 1];
    arguments["align_corners"] = *aligned;
  }
  Sizes counts;
  std::vector<double> factors;
  for (const Side& side : sides) {
    counts.push_back({side.made});
    factors.push_back(side.scale);
  }
  arguments["self"] = NameOf(x);
  arguments["scale_factors"] = factors;
  return l.Result(op, std::move(arguments), x.type, WithWindows(x, counts));
}

}  // namespace

void AddImages(Lowerings& lowerings) {
  lowerings.insert({{"MaxPool", Pool},
                    {"AveragePool", Pool},
                    {"GlobalAveragePool", GlobalPool},
                    {"GlobalMaxPool", GlobalPool},
                    {"Resize", Resize},
                    {"Upsample", Resize}});
}

}  // namespace partita::onnx
