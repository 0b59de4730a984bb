// A node's convolution as a graph of cuDNN: forward, perhaps with an epilogue behind it, or one of its two gradients.
//
//   x, w -> convolution -> y
//   x, w -> convolution -> (virtual) -> + bias [1,k,1,1] -> (virtual) -> activation -> y
//
// Each of the two steps behind the convolution may be absent. Virtual tensors are f32 and lie nowhere. Images are NHWC,
// weights OHWI; computed in f32.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_GRAPH_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_GRAPH_H_

#include <string>
#include <vector>

#include "ops/cuda/cudnn/cudnn_target.h"
#include "ops/cuda/kernel/cuda_kernel.h"

namespace partita {

// The alignment of all addresses passed to a plan. With less, no engine uses tensor cores.
inline constexpr int64_t kCudnnAlignment = 16;

// Where a tensor's block lies in its memory, which a part of a node fills in part (LocalNode::within).
struct BlockPlace {
  int64_t rows = 0, columns = 0;  // of the memory
  int64_t first_byte = 0;
  int64_t memory_bytes = 0;
};

enum class ConvolutionDirection { kForward, kInputGrad, kWeightGrad };

// What a graph is made from.
struct CudnnConvolution {
  ConvolutionDirection direction = ConvolutionDirection::kForward;
  Convolution conv;
  NodeEpilogue epilogue;
  const LocalNode* node = nullptr;  // borrowed

  // The convolution alone.
  CudnnConvolution Product() const { return {direction, conv, {}, node}; }
  // Input 0, input 1, the output and, if there is one, the bias: the order of all lists of operands.
  std::vector<BlockPlace> Places() const;
  // "conv2d", "conv2d+bias+relu", "conv2d_input_grad": part of keys.
  std::string Name() const;
};

// Refuses f64, empty images, and parts of images whose pixels are no multiples of 16 bytes.
absl::StatusOr<CudnnConvolution> DescribeConvolution(const LocalNode& node);

absl::StatusOr<CudnnDescriptor> GraphOf(const CudnnApi& api, const CudnnTarget& target,
                                        const CudnnConvolution& convolution);

// The addresses of a graph's operands, for its execution.
absl::StatusOr<CudnnDescriptor> PackOf(const CudnnApi& api, const std::vector<void*>& operands, void* workspace);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_GRAPH_H_
