// What the tests of cuDNN's convolutions share: one node on buffers, and the nodes.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_CUDNN_RUN_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_CUDNN_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cudnn/cudnn_convolution.h"
#include "tests/ops/cuda/kernel/host_queue.h"
#include "tests/ops/cuda/kernel/times_of_each.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// `launches`: of kernels of ours that are expected.
inline absl::StatusOr<std::vector<Values>> Computed(const CudnnApi& api, const LocalNode& node,
                                                    const std::vector<Values>& inputs, const RunOptions& run = {},
                                                    const CudnnOptions& options = {}, PlanCache* cache = nullptr,
                                                    int launches = 0) {
  PlanCache own;
  ASSIGN_OR_RETURN(const auto convolutions, CudnnConvolutions::Create(api, options, cache == nullptr ? &own : cache));
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, convolutions->Prepare(node));
  return RunOnBuffers(node, inputs, run, prepared.workspace_bytes, "cudnn",
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
                        HostQueue queue;
                        queue.launches_allowed = launches;
                        return enqueue(&queue);
                      });
}

// What a timer does, with room for a launch of ours.
inline absl::Status RunInMemory(const PlanToTime& plan) {
  std::vector<char> memory(static_cast<size_t>(plan.bytes) + 64);
  HostQueue queue;
  queue.launches_allowed = 1;
  return plan.run(memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64), &queue);
}

// All plans are equally fast.
inline CudnnOptions Timed() {
  CudnnOptions options;
  options.deterministic = false;
  options.timer = TimesOfEach([](const PlanToTime& plan) -> absl::StatusOr<double> {
    RETURN_IF_ERROR(RunInMemory(plan));
    return 1.0;
  });
  return options;
}

inline bool IsSum(const LocalNode& node) { return node.op->name == "conv2d_input_grad_sum" && node.inputs.size() > 2; }

inline bool IsConvolution(const LocalNode& node) { return node.op->name.rfind("conv2d", 0) == 0 && !IsSum(node); }

inline KernelCase AnyCase(const std::string& op = "conv2d") {
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name == op) return c;
  }
  return {};
}

// Of the graph: the convolution, and a step each for bias and activation.
inline int Operations(const LocalNode& node) {
  if (node.op->name != "conv2d_epilogue") return 1;
  return 1 + (node.inputs[2].has_value() ? 1 : 0) + (node.attributes.String("activation").empty() ? 0 : 1);
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_CUDNN_RUN_H_
