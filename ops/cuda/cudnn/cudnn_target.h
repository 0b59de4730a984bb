// The GPU about which cuDNN is asked: the one that a handle is for, or one that need not be here, as the library itself
// describes it. Its heuristics and plans take either.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_TARGET_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_TARGET_H_

#include <string>

#include "ops/cuda/cudnn/cudnn_descriptor.h"

namespace partita {

struct CudnnTarget {
  cudnnHandle_t handle = nullptr;       // borrowed
  CudnnDescriptor described = nullptr;  // null: the handle's GPU
};

// `json`: a GPU's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
absl::StatusOr<CudnnTarget> DescribedTarget(const CudnnApi& api, const std::string& json);

// A plan for the target, as yet without an engine. `what` is for messages.
CudnnBuilder PlanFor(const CudnnApi& api, const CudnnTarget& target, std::string what);

// The heuristics for the target, as yet without a graph.
CudnnBuilder HeuristicsFor(const CudnnApi& api, const CudnnTarget& target);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_TARGET_H_
