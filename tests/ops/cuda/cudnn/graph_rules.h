// Operations of cuDNN become a graph: how they fit together, what no engine computes, and a plan as text.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_GRAPH_RULES_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_GRAPH_RULES_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/ops/cuda/cudnn/convolution_graph.h"
#include "tests/ops/cuda/cudnn/descriptor.h"

namespace partita::fake_cudnn {

using Operations = std::vector<std::shared_ptr<const Descriptor>>;

// The graph of final operations. BAD_PARAM: a tensor is written twice, an id names two tensors, or a virtual tensor is
// read before it is written.
Verdict GraphOf(const Operations& operations, Graph* graph);

// What no engine computes. NOT_SUPPORTED.
Verdict CheckSupported(const Graph& graph, const Operations& operations);

// A plan as text: all of the graph, so that another process can read it.
std::string Write(int engine, const Graph& graph);
// False: it is no such text.
bool Read(const std::string& text, int* engine, Graph* graph);

}  // namespace partita::fake_cudnn

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_GRAPH_RULES_H_
