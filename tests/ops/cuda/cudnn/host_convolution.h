// Computes a graph of convolutions and what follows them on the host, in f32.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_HOST_CONVOLUTION_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_HOST_CONVOLUTION_H_

#include <vector>

#include "tests/ops/cuda/cudnn/convolution_graph.h"

namespace partita::fake_cudnn {

// `data`: the address of each tensor; of virtual ones it is ignored. Channels must be contiguous. Thread-safe.
void Compute(const Graph& graph, std::vector<void*> data);

// What Compute would write becomes NaN.
void Spoil(const Graph& graph, const std::vector<void*>& data);

}  // namespace partita::fake_cudnn

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_HOST_CONVOLUTION_H_
