// A graph of cuDNN's operations as plain values, copied from descriptors, which may be destroyed before it is computed.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_CONVOLUTION_GRAPH_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_CONVOLUTION_GRAPH_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace partita::fake_cudnn {

// Dimensions are n,c,h,w; of weights o,i,h,w.
struct Tensor {
  int64_t id = 0;
  bool narrow = false;  // bf16, else f32
  bool is_virtual = false;
  int64_t alignment = 1;  // bytes
  std::array<int64_t, 4> size = {}, stride = {};

  // From the first element to behind the last.
  int64_t elements() const {
    int64_t last = 0;
    for (size_t d = 0; d < 4; ++d) last += (size[d] - 1) * stride[d];
    return last + 1;
  }
  int64_t bytes() const { return elements() * (narrow ? 2 : 4); }

  bool operator==(const Tensor&) const = default;
};

enum class Kind { kForward, kInputGrad, kWeightGrad, kAdd, kRelu };

// The three directions of y = x * w name their tensors alike: the input gradient writes x, the weight gradient w. An
// addition is y = x + w, where dimensions of w of size 1 are repeated.
struct Step {
  Kind kind = Kind::kForward;
  int x = 0, w = 0, y = 0;  // in Graph::tensors
  float alpha = 1, beta = 0;
  std::array<int64_t, 2> before = {}, after = {}, stride = {}, dilation = {};  // of rows, of columns

  bool convolves() const { return kind < Kind::kAdd; }
  int output() const { return kind == Kind::kInputGrad ? x : kind == Kind::kWeightGrad ? w : y; }
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Step> steps;  // in an order in which they can be computed
};

}  // namespace partita::fake_cudnn

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_CONVOLUTION_GRAPH_H_
