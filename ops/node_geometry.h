// Reads the sizes that kernels of every backend loop over (ops/functors/geometry.h) off a rank's share of a node.
#ifndef PARTITA_OPS_NODE_GEOMETRY_H_
#define PARTITA_OPS_NODE_GEOMETRY_H_

#include <cstdint>

#include "graph/kernel_catalogue.h"
#include "ops/functors/geometry.h"

namespace partita {

inline bool HasInput(const LocalNode& node, size_t i) { return i < node.inputs.size() && node.inputs[i].has_value(); }
inline const LocalTensor& Input(const LocalNode& node, size_t i) { return *node.inputs[i]; }
inline const Shape& InputShape(const LocalNode& node, size_t i) { return node.inputs[i]->shape(); }

// stride, padding and dilation, all that a node's attributes say; the kernel's size is the caller's.
inline SlidingWindow MakeWindow(const Attributes& attributes, int64_t kernel_h, int64_t kernel_w) {
  SlidingWindow window;
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

inline Images MakeImages(const Shape& x, const Shape& y) { return {x[0], x[1], x[2], x[3], y[1], y[2], y[3]}; }

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

inline Pooling MakePooling(const Shape& x, const Shape& y, const Attributes& attributes) {
  const auto& kernel = attributes.Ints("kernel");
  Pooling pooling{MakeImages(x, y), MakeWindow(attributes, kernel[0], kernel[1])};
  if (attributes.Has("count_padding")) pooling.count_padding = attributes.Bool("count_padding");
  return pooling;
}

// Of a tensor with at most GlobalBlock::kMaxRank dimensions.
inline GlobalBlock MakeGlobalBlock(const LocalTensor& tensor) {
  GlobalBlock block;
  block.rank = static_cast<int>(tensor.global.size());
  for (int d = 0; d < block.rank; ++d) {
    block.size[d] = tensor.box.size[d];
    block.offset[d] = tensor.box.offset[d];
    block.global[d] = tensor.global[d];
  }
  return block;
}

inline Rows MakeRows(const Shape& shape) {
  Rows result{1, shape.back()};
  for (size_t d = 0; d + 1 < shape.size(); ++d) result.rows *= shape[d];
  return result;
}

// `samples` consecutive samples of the global batch make a group, 0: all of them. A rank holds whole groups, or a part
// of the only one.
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

#endif  // PARTITA_OPS_NODE_GEOMETRY_H_
