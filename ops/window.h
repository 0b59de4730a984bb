// The geometry of sliding windows, shared by convolution and pooling: where windows lie and how many there are.
// A window at output o starts at o * stride - padding and has taps at steps of `dilation`. Images are [n,h,w,c].
#ifndef PARTITA_OPS_WINDOW_H_
#define PARTITA_OPS_WINDOW_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/attributes.h"

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

}  // namespace partita

#endif  // PARTITA_OPS_WINDOW_H_
