// Sizes of the local node in the words of the loops: windows, convolutions, channels, groups of samples.
#ifndef PARTITA_OPS_HOST_GEOMETRY_H_
#define PARTITA_OPS_HOST_GEOMETRY_H_

#include <algorithm>
#include <cstdint>

#include "graph/kernel_catalogue.h"

namespace partita {

// A window that moves over the rows and columns of [n,h,w,c] images. Pixels outside of the image are padding.
struct Window {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;  // padding
};

// stride, padding and dilation, all that a node's attributes say; the kernel's size is the caller's.
inline Window MakeWindow(const Attributes& attributes, int64_t kernel_h, int64_t kernel_w) {
  Window window;
  window.kernel_h = kernel_h;
  window.kernel_w = kernel_w;
  window.stride_h = attributes.Ints("stride")[0];
  window.stride_w = attributes.Ints("stride")[1];
  const auto& padding = attributes.Ints("padding");
  window.top = padding[0];
  window.bottom = padding[1];
  window.left = padding[2];
  window.right = padding[3];
  if (attributes.Has("dilation")) {
    window.dilation_h = attributes.Ints("dilation")[0];
    window.dilation_w = attributes.Ints("dilation")[1];
  }
  return window;
}

// Images x[n,h,w,c] and what windows make of them: y[n,out_h,out_w,out_c].
struct Images {
  int64_t n = 0, h = 0, w = 0, c = 0, out_h = 0, out_w = 0, out_c = 0;
};

inline Images MakeImages(const Shape& x, const Shape& y) { return {x[0], x[1], x[2], x[3], y[1], y[2], y[3]}; }

struct Convolution {
  Images images;
  Window window;
  int64_t groups = 1;

  int64_t group_c() const { return images.c / groups; }          // input channels of a group
  int64_t group_out_c() const { return images.out_c / groups; }  // output channels of a group
  int64_t weights() const { return images.out_c * window.kernel_h * window.kernel_w * group_c(); }
  bool empty() const {
    return images.n == 0 || images.c == 0 || images.out_c == 0 || images.out_h == 0 || images.out_w == 0;
  }
};

// x [n,h,w,c], w [o,kh,kw,c/groups], y [n,oh,ow,o]: local shapes.
inline Convolution MakeConvolution(const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes) {
  return {MakeImages(x, y), MakeWindow(attributes, w[1], w[2]), attributes.Int("groups")};
}

// conv2d(x, w) -> y; conv2d_input_grad(dy, w) -> dx; conv2d_weight_grad(x, dy) -> dw
inline Convolution ForwardConvolution(const LocalNode& node) {
  return MakeConvolution(node.inputs[0]->shape(), node.inputs[1]->shape(), node.outputs[0].shape(), node.attributes);
}
inline Convolution InputGradConvolution(const LocalNode& node) {
  return MakeConvolution(node.outputs[0].shape(), node.inputs[1]->shape(), node.inputs[0]->shape(), node.attributes);
}
inline Convolution WeightGradConvolution(const LocalNode& node) {
  return MakeConvolution(node.inputs[0]->shape(), node.outputs[0].shape(), node.inputs[1]->shape(), node.attributes);
}

struct Pooling {
  Images images;
  Window window;
  bool count_padding = true;  // average pooling divides by the whole window

  // The part [begin, end) of the window of output row i (column i) that lies in the image.
  int64_t RowBegin(int64_t i) const { return std::max<int64_t>(0, i * window.stride_h - window.top); }
  int64_t RowEnd(int64_t i) const { return std::min(images.h, i * window.stride_h - window.top + window.kernel_h); }
  int64_t ColumnBegin(int64_t i) const { return std::max<int64_t>(0, i * window.stride_w - window.left); }
  int64_t ColumnEnd(int64_t i) const { return std::min(images.w, i * window.stride_w - window.left + window.kernel_w); }

  // What an average over output pixel (i, j) divides by; at least 1, for windows that see padding alone.
  int64_t Divisor(int64_t i, int64_t j) const {
    if (count_padding) return window.kernel_h * window.kernel_w;
    return std::max<int64_t>(
        1, std::max<int64_t>(0, RowEnd(i) - RowBegin(i)) * std::max<int64_t>(0, ColumnEnd(j) - ColumnBegin(j)));
  }
};

inline Pooling MakePooling(const Shape& x, const Shape& y, const Attributes& attributes) {
  const auto& kernel = attributes.Ints("kernel");
  Pooling pooling{MakeImages(x, y), MakeWindow(attributes, kernel[0], kernel[1])};
  if (attributes.Has("count_padding")) pooling.count_padding = attributes.Bool("count_padding");
  return pooling;
}

// A tensor as rows of channels: the last dimension runs fastest.
struct Rows {
  int64_t rows = 0, channels = 0;
  int64_t elements() const { return rows * channels; }
};

inline Rows MakeRows(const Shape& shape) {
  Rows result{1, shape.back()};
  for (size_t d = 0; d + 1 < shape.size(); ++d) result.rows *= shape[d];
  return result;
}

// The samples of [n,...,c] in the groups that batch statistics are taken over.
struct SampleGroups {
  int64_t groups = 1;          // local ones
  int64_t rows_per_group = 0;  // rows of channels in a group, as this rank holds them
  int64_t channels = 0;
  double count = 0;  // elements of a group and channel over all ranks

  int64_t rows() const { return groups * rows_per_group; }
};

// `samples` consecutive samples of the global batch make a group, 0: all of them. A rank holds whole groups, or a part of
// the only one.
inline SampleGroups MakeSampleGroups(const LocalTensor& x, int64_t samples) {
  const Rows rows = MakeRows(x.shape());
  const bool whole = samples == 0 || samples == x.global[0];
  SampleGroups result;
  result.channels = rows.channels;
  result.groups = whole ? 1 : x.shape()[0] / samples;
  result.rows_per_group = result.groups == 0 ? 0 : rows.rows / result.groups;
  result.count = static_cast<double>(whole ? x.global[0] : samples);
  for (size_t d = 1; d + 1 < x.global.size(); ++d) result.count *= static_cast<double>(x.global[d]);
  return result;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GEOMETRY_H_
