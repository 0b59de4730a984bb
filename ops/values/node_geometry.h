// Reads the sizes that kernels of every backend loop over (ops/functors/geometry.h) off a rank's share of a node.
#ifndef PARTITA_OPS_VALUES_NODE_GEOMETRY_H_
#define PARTITA_OPS_VALUES_NODE_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/epilogue.h"
#include "ops/functors/geometry.h"

namespace partita {

inline bool HasInput(const LocalNode& node, size_t i) { return i < node.inputs.size() && node.inputs[i].has_value(); }
inline const LocalTensor& Input(const LocalNode& node, size_t i) { return *node.inputs[i]; }
inline const Shape& InputShape(const LocalNode& node, size_t i) { return node.inputs[i]->shape(); }

// What the mean of a loss or of accuracy divides by: the rows of all ranks in input 0, whose first `dimensions` say
// which row; attribute batch, where it is above 0, says how many samples there are.
inline double RowsOfMean(const LocalNode& node, size_t dimensions) {
  const int64_t batch = node.attributes.Int("batch");
  const Shape& global = Input(node, 0).global;
  double rows = static_cast<double>(batch > 0 ? batch : global[0]);
  for (size_t d = 1; d < dimensions; ++d) rows *= static_cast<double>(global[d]);
  return rows;
}

// Of one sample in a rank's block of rows; the first `dimensions` sizes index the rows.
inline int64_t RowsOfSample(const Shape& shape, size_t dimensions) {
  int64_t rows = 1;
  for (size_t d = 1; d < dimensions; ++d) rows *= shape[d];
  return rows;
}

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

// What is padding for the local block: what its windows reach beyond the rows and columns that the rank holds of x.
// Where x is split by windows that is nothing, or at the outer ends what is left of the padding.
inline SlidingWindow LocalWindow(const LocalTensor& x, const LocalTensor& y, SlidingWindow window) {
  const auto before = [&](int d, int64_t stride, int64_t padding) {
    return x.box.offset[d] + padding - stride * y.box.offset[d];
  };
  const auto after = [&](int d, int64_t stride, int64_t kernel, int64_t dilation, int64_t padding) {
    const int64_t reach = stride * (y.box.size[d] - 1) + dilation * (kernel - 1) + 1;
    return Larger(0, reach - padding - x.box.size[d]);
  };
  window.top = before(1, window.stride_h, window.top);
  window.left = before(2, window.stride_w, window.left);
  window.bottom = after(1, window.stride_h, window.kernel_h, window.dilation_h, window.top);
  window.right = after(2, window.stride_w, window.kernel_w, window.dilation_w, window.left);
  return window;
}

// `box` of images in the memory of `within`.
inline PixelMap MakePixelMap(const Box& box, const Box& within) {
  const int64_t row = box.offset[1] - within.offset[1], column = box.offset[2] - within.offset[2];
  return {row * within.size[2] + column, within.size[1], within.size[2]};
}

// The groups of a convolution that a rank holds, whole ones; at least 1, also where its block has no channels.
inline int64_t LocalGroups(const LocalTensor& x, const Attributes& attributes) {
  const int64_t groups = attributes.Int("groups");
  return groups == 1 ? 1 : Larger(1, x.shape()[3] * groups / x.global[3]);
}

// x [n,h,w,c], w [o,kh,kw,c/groups], y [n,oh,ow,o]
inline Convolution MakeConvolution(const LocalTensor& x, const LocalTensor& w, const LocalTensor& y,
                                   const Attributes& attributes) {
  const SlidingWindow window = MakeWindow(attributes, w.shape()[1], w.shape()[2]);
  return {MakeImages(x.shape(), y.shape()), LocalWindow(x, y, window), LocalGroups(x, attributes),
          MakePixelMap(x.box, x.box), MakePixelMap(y.box, y.box)};
}

// What conv2d_epilogue, matmul_epilogue and matmul_relu_mask do to their product; nothing for other products.
struct NodeEpilogue {
  bool bias = false;  // input 2
  int activation = kNoActivation;

  bool any() const { return bias || activation != kNoActivation; }
  std::string activation_name() const { return activation == kNoActivation ? "" : NamesOf(EpilogueOps())[activation]; }
};
inline NodeEpilogue EpilogueOf(const LocalNode& node) {
  if (!node.attributes.Has("activation")) return {};
  return {HasInput(node, 2), PlaceOf(EpilogueOps(), node.attributes.String("activation"))};
}

// The operand of matmul_bias_grad whose rows are summed: 0 is x, 1 is w.
inline size_t BiasOperandOf(const LocalNode& node) { return node.attributes.String("bias_of") == "x" ? 0 : 1; }

// conv2d(x, w), conv2d_epilogue(x, w, bias) -> y; conv2d_input_grad(dy, w) -> dx; conv2d_weight_grad(x, dy) -> dw
inline Convolution ForwardConvolution(const LocalNode& node) {
  Convolution conv = MakeConvolution(*node.inputs[0], *node.inputs[1], node.outputs[0], node.attributes);
  if (!node.within.empty()) {
    conv.x = MakePixelMap(node.inputs[0]->box, node.within[0]);
    conv.y = MakePixelMap(node.outputs[0].box, node.within.back());
  }
  return conv;
}
inline Convolution InputGradConvolution(const LocalNode& node) {
  return MakeConvolution(node.outputs[0], *node.inputs[1], *node.inputs[0], node.attributes);
}
inline Convolution WeightGradConvolution(const LocalNode& node) {
  return MakeConvolution(*node.inputs[0], node.outputs[0], *node.inputs[1], node.attributes);
}

// x [n,h,w,c], y [n,oh,ow,c]. What the rank does not hold of x is padding: windows are clipped, so it really is.
inline Pooling MakePooling(const LocalTensor& x, const LocalTensor& y, const Attributes& attributes) {
  const auto& kernel = attributes.Ints("kernel");
  const SlidingWindow window = LocalWindow(x, y, MakeWindow(attributes, kernel[0], kernel[1]));
  Pooling pooling{MakeImages(x.shape(), y.shape()), window};
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

// Of `positions`.
inline DimensionPlaces MakeDimensionPlaces(const LocalNode& node) {
  const LocalTensor& y = node.outputs[0];
  if (y.box.empty()) return {};
  const auto axis = static_cast<size_t>(node.attributes.Int("axis"));
  DimensionPlaces places{y.box.offset[axis], y.box.size[axis], 1};
  if (axis == 0) places.first += node.attributes.Int("first_sample");
  for (size_t d = axis + 1; d < y.box.size.size(); ++d) places.behind *= y.box.size[d];
  return places;
}

inline ChannelRows MakeRows(const Shape& shape) {
  ChannelRows result{1, shape.back()};
  for (size_t d = 0; d + 1 < shape.size(); ++d) result.rows *= shape[d];
  return result;
}

// Of matmul and what is made of it: y[m,n] = sum over k, where the dimensions of an operand before its last are one.
struct ProductSizes {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_x = false, transpose_w = false;
};
inline ProductSizes MakeProductSizes(const LocalNode& node) {
  const ChannelRows x = MakeRows(InputShape(node, 0));
  const bool tx = node.attributes.Bool("transpose_x");
  return {tx ? x.channels : x.rows, node.outputs[0].shape().back(), tx ? x.rows : x.channels, tx,
          node.attributes.Bool("transpose_w")};
}

// Of batch_matmul: products of these sizes, stored one behind the other.
struct ProductBatch {
  BatchPlaces places;
  ProductSizes each;
};
inline ProductBatch MakeProductBatch(const LocalNode& node) {
  const Shape &x = InputShape(node, 0), &y = InputShape(node, 1), &z = node.outputs[0].shape();
  const bool tx = node.attributes.Bool("transpose_x");
  ProductBatch batch;
  batch.each = {z[z.size() - 2], z.back(), x[x.size() - (tx ? 2 : 1)], tx, node.attributes.Bool("transpose_y")};
  // From the last dimension of the results on: how many matrices of each operand are behind it.
  std::vector<BatchPlaces::Dimension> dimensions;
  int64_t x_matrices = 1, y_matrices = 1, products = 1;
  for (size_t back = 3; back <= z.size(); ++back) {
    const int64_t size = z[z.size() - back];
    const int64_t in_x = back <= x.size() ? x[x.size() - back] : 1, in_y = back <= y.size() ? y[y.size() - back] : 1;
    const BatchPlaces::Dimension one{size, in_x == 1 ? 0 : x_matrices, in_y == 1 ? 0 : y_matrices, products};
    x_matrices *= in_x;
    y_matrices *= in_y;
    products *= size;
    if (size == 1) continue;
    const bool merges = !dimensions.empty() && one.x_step == dimensions.back().size * dimensions.back().x_step &&
                        one.y_step == dimensions.back().size * dimensions.back().y_step;
    if (merges) {
      dimensions.back().size *= size;
    } else {
      dimensions.push_back(one);
    }
  }
  batch.places.rank = static_cast<int>(dimensions.size());
  std::reverse_copy(dimensions.begin(), dimensions.end(), batch.places.dimensions);
  return batch;
}

// `samples` consecutive samples of the global batch make a group, 0: all of them. A rank holds whole groups, or a part
// of the only one.
inline SampleGroups MakeSampleGroups(const LocalTensor& x, int64_t samples) {
  const ChannelRows rows = MakeRows(x.shape());
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

#endif  // PARTITA_OPS_VALUES_NODE_GEOMETRY_H_
