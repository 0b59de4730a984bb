// An execution of a plan, apart from all descriptors.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_PLAN_WORK_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_PLAN_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/ops/cuda/cudnn/convolution_graph.h"
#include "tests/ops/cuda/cudnn/descriptor.h"

namespace partita::fake_cudnn {

struct PlanWork {
  std::shared_ptr<const Graph> graph;
  std::vector<void*> data;  // by tensor of the graph; null: virtual
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  std::optional<std::weak_ptr<const int>> code = std::nullopt;  // of a plan that was compiled at run time

  // What a GPU does when it comes to the work: writes all of the workspace, and computes. Memory that `reaches` denies
  // is not touched, and nothing is computed; empty: all is reached. Returns what went wrong; empty: nothing.
  std::string Run(const std::function<bool(const void*, int64_t)>& reaches) const;
};

// The addresses of the graph's tensors: the pack has one of each, and none besides.
Verdict FindData(const Descriptor& pack, const Graph& graph, std::vector<void*>* data);

}  // namespace partita::fake_cudnn

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_PLAN_WORK_H_
