#include "ops/forms/window.h"

#include "ops/forms/op_checks.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const char* kDimension[] = {"height", "width"};

void SetPadding(const IntList& padding, Window& window) {
  window.before = {padding[0], padding[2]};
  window.after = {padding[1], padding[3]};
}

absl::StatusOr<int64_t> OutputsAlong(const Window& window, int d, int64_t size) {
  int64_t padded = 0;
  if (__builtin_add_overflow(size, window.before[d], &padded) ||
      __builtin_add_overflow(padded, window.after[d], &padded)) {
    return InvalidArgument("{} {} with padding {} and {} does not fit in 64 bits", kDimension[d], size,
                           window.before[d], window.after[d]);
  }
  int64_t extent = 0;
  if (__builtin_mul_overflow(window.kernel[d] - 1, window.dilation[d], &extent) ||
      __builtin_add_overflow(extent, 1, &extent)) {
    return InvalidArgument("kernel {} {} with dilation {} does not fit in 64 bits", kDimension[d], window.kernel[d],
                           window.dilation[d]);
  }
  if (extent > padded) {
    return InvalidArgument(
        "kernel {} {} with dilation {} covers {} elements, but the padded input has only {}: no output", kDimension[d],
        window.kernel[d], window.dilation[d], extent, padded);
  }
  return (padded - extent) / window.stride[d] + 1;
}

}  // namespace

absl::StatusOr<Window> ConvolutionWindow(const Attributes& attributes, int64_t kernel_height, int64_t kernel_width) {
  RETURN_IF_ERROR(CheckInts(attributes, "stride", 2, 1));
  RETURN_IF_ERROR(CheckInts(attributes, "padding", 4, 0));
  RETURN_IF_ERROR(CheckInts(attributes, "dilation", 2, 1));
  Window window;
  window.kernel = {kernel_height, kernel_width};
  window.stride = {attributes.Ints("stride")[0], attributes.Ints("stride")[1]};
  window.dilation = {attributes.Ints("dilation")[0], attributes.Ints("dilation")[1]};
  SetPadding(attributes.Ints("padding"), window);
  return window;
}

absl::StatusOr<Window> PoolingWindow(const Attributes& attributes) {
  RETURN_IF_ERROR(CheckInts(attributes, "kernel", 2, 1));
  RETURN_IF_ERROR(CheckInts(attributes, "stride", 2, 1));
  RETURN_IF_ERROR(CheckInts(attributes, "padding", 4, 0));
  Window window;
  window.kernel = {attributes.Ints("kernel")[0], attributes.Ints("kernel")[1]};
  window.stride = {attributes.Ints("stride")[0], attributes.Ints("stride")[1]};
  SetPadding(attributes.Ints("padding"), window);
  for (int d = 0; d < 2; ++d) {
    // Then every window holds at least one element of the image.
    if (window.before[d] >= window.kernel[d] || window.after[d] >= window.kernel[d]) {
      return InvalidArgument("attribute padding is {}; padding along the {} must be less than the kernel's {}",
                             ToString(attributes.Ints("padding")), kDimension[d], window.kernel[d]);
    }
  }
  return window;
}

std::vector<SpatialRule> SpatialRules(const Window& window, const Shape& x, const Shape& y, bool clipped) {
  std::vector<SpatialRule> rules;
  for (int d = 0; d < 2; ++d) {
    const int dimension = d + 1;
    const int64_t extent = (window.kernel[d] - 1) * window.dilation[d] + 1;
    const Windows copied{y[dimension], extent, window.stride[d], window.before[d], clipped, false};
    Windows summed = copied;
    summed.summed = true;
    Shape padded = x;
    if (!clipped) padded[dimension] = (copied.count - 1) * copied.stride + extent;
    if (!CheckedElements(padded).ok()) continue;
    // Windows behind the image are none of its elements: then there are more of them.
    const bool element_each = extent == 1 && copied.stride == 1 && copied.before == 0 && copied.count == x[dimension];
    const auto split = [&](const Windows& windows) { return element_each ? S(dimension) : S(dimension, windows); };
    rules.push_back({kDimension[d], split(copied), split(summed), S(dimension)});
  }
  return rules;
}

absl::StatusOr<std::array<int64_t, 2>> WindowOutputs(const Window& window, int64_t height, int64_t width) {
  ASSIGN_OR_RETURN(const int64_t rows, OutputsAlong(window, 0, height));
  ASSIGN_OR_RETURN(const int64_t columns, OutputsAlong(window, 1, width));
  return std::array<int64_t, 2>{rows, columns};
}

}  // namespace partita
