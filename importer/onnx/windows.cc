#include "importer/onnx/windows.h"

#include <algorithm>

#include "graph/value/shape.h"

namespace partita::onnx {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;

absl::StatusOr<IntList> Sides(const Lowering& lowering, const std::string& name, size_t count, int64_t least) {
  IntList list = lowering.List(name);
  if (list.empty()) list = IntList(count, name == "pads" ? 0 : 1);
  const bool fits = list.size() == count &&
                    std::ranges::all_of(list, [&](int64_t value) { return value >= least && value <= kMost; });
  if (fits) return list;
  return InvalidArgument("{} is {}; expected {} numbers of at least {}", name, ToString(list), count, least);
}

}  // namespace

IntList Windows::Around() const {
  IntList around;
  for (size_t d = 0; d < begin.size(); ++d) {
    around.push_back(begin[d]);
    around.push_back(end[d]);
  }
  return around;
}

absl::StatusOr<Windows> WindowsOf(const Lowering& lowering, const Value& image, const IntList& kernel) {
  const size_t sides = kernel.size();
  if (image.rank() != sides + 2 || sides < 1 || sides > 3) {
    return InvalidArgument("a kernel of {} dimensions over {}; expected a batch of 1 to 3, with channels", sides,
                           image.rank());
  }
  Windows windows;
  windows.kernel = kernel;
  for (const int64_t size : kernel) {
    if (size < 1 || size > kMost) return InvalidArgument("its kernel has size {}", size);
  }
  ASSIGN_OR_RETURN(windows.stride, Sides(lowering, "strides", sides, 1));
  ASSIGN_OR_RETURN(windows.dilation, Sides(lowering, "dilations", sides, 1));
  ASSIGN_OR_RETURN(const IntList pads, Sides(lowering, "pads", 2 * sides, 0));
  windows.begin = IntList(pads.begin(), pads.begin() + sides);
  windows.end = IntList(pads.begin() + sides, pads.end());
  const std::string word = lowering.Text("auto_pad", "NOTSET");
  if (word == "NOTSET") return windows;
  for (size_t d = 0; d < sides; ++d) {
    if (!image.sizes[2 + d].symbol.empty()) return InvalidArgument("a dimension of its image varies");
    const int64_t size = image.sizes[2 + d].value, made = (size + windows.stride[d] - 1) / windows.stride[d];
    const int64_t all =
        word == "VALID" ? 0 : std::max<int64_t>(0, (made - 1) * windows.stride[d] + windows.Reach(d) - size);
    const int64_t less = all / 2;
    windows.begin[d] = word == "SAME_LOWER" ? all - less : less;
    windows.end[d] = all - windows.begin[d];
  }
  return windows;
}

absl::StatusOr<Sizes> WindowCounts(const Windows& windows, const Value& image, bool rounds_up) {
  Sizes counts;
  for (size_t d = 0; d < windows.sides(); ++d) {
    if (!image.sizes[2 + d].symbol.empty()) return InvalidArgument("a dimension of its image varies");
    const int64_t size = image.sizes[2 + d].value, stride = windows.stride[d];
    const int64_t room = size + windows.begin[d] + windows.end[d] - windows.Reach(d);
    if (room < 0) return InvalidArgument("a window of {} elements over {}", windows.Reach(d), size);
    int64_t count = room / stride + 1;
    const bool one_more = rounds_up && room % stride != 0 && count * stride < size + windows.begin[d];
    counts.push_back({one_more ? count + 1 : count});
  }
  return counts;
}

}  // namespace partita::onnx
