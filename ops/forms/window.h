// The geometry of sliding windows, shared by convolution and pooling: where windows lie and how many there are.
// A window at output o starts at o * stride - padding and has taps at steps of `dilation`. Images are [n,h,w,c].
#ifndef PARTITA_OPS_FORMS_WINDOW_H_
#define PARTITA_OPS_FORMS_WINDOW_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/value/attributes.h"

namespace partita {

// Index 0: height, index 1: width.
struct Window {
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> before{0, 0};  // padding at the top, left
  std::array<int64_t, 2> after{0, 0};   // padding at the bottom, right
};

// From attributes stride, padding (top, bottom, left, right) and dilation of a convolution, or kernel, stride and
// padding of a pooling; refuses counts and values out of range. `kernel` of a convolution comes from its weights.
absl::StatusOr<Window> ConvolutionWindow(const Attributes& attributes, int64_t kernel_height, int64_t kernel_width);
absl::StatusOr<Window> PoolingWindow(const Attributes& attributes);

// The number of windows per dimension over an image of height x width; at least one each, or an error that says why
// none fits. Overflow of 64 bits is an error as well.
absl::StatusOr<std::array<int64_t, 2>> WindowOutputs(const Window& window, int64_t height, int64_t width);

// A rule that splits the rows or columns of images by the windows that read them. Patterns: of images x [n,h,w,c] (a
// rank holds a copy of what its windows read), of their cotangent dx (it holds summands), and of y, which has the
// windows as its rows and columns. Windows of one element each are plain splits.
struct SpatialRule {
  const char* name;  // "height", "width"
  Pattern x, dx, y;
};

// The spatial rules of a node with images `x` and windows `y` (both [n,h,w,c]) that have passed WindowOutputs.
// `clipped`: blocks end where the image ends, as poolings want it; else they have a margin of zeros, and there is no
// rule for a direction in which that leaves the range of sizes.
std::vector<SpatialRule> SpatialRules(const Window& window, const Shape& x, const Shape& y, bool clipped);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_WINDOW_H_
