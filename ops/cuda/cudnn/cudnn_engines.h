// Execution plans of a cuDNN graph: which engines the heuristics name, which of them keep to the rules, and plans as
// text.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_ENGINES_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_ENGINES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/cuda/cudnn/cudnn_target.h"

namespace partita {

struct CudnnPlan {
  CudnnDescriptor descriptor;
  int64_t workspace_bytes = 0;
  bool deterministic = true;
};

struct EngineRules {
  bool tensor_cores = false;  // on f32 they round inputs to narrower types (TF32); bf16 is what they are for
  bool deterministic = true;  // results are bitwise identical in every run
};

// The plan that the heuristics name first for the graph on the target: of mode A, else of the fallback list. None adds
// in less than f32. kInvalidArgument: no engine takes the graph and keeps to the rules; says how many were asked.
absl::StatusOr<CudnnPlan> FirstPlan(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& graph,
                                    const EngineRules& rules);

struct CandidateLimits {
  int most = 0;                            // of each list
  std::function<bool()> enough = nullptr;  // asked before each plan but the first; null: never
};

struct CudnnCandidates {
  std::vector<CudnnPlan> plans;  // at least one
  int skipped = 0;               // configurations that keep to the rules but were not planned, for it was enough
};

// Plans from which times are to choose: up to `most` of each list, of mode A, mode B (ranked in another way, for a
// few milliseconds more) and the fallback, in this order. A configuration that several lists name is planned once, for
// a plan may have to be compiled. Errors are those of FirstPlan.
absl::StatusOr<CudnnCandidates> FindCandidates(const CudnnApi& api, const CudnnTarget& target,
                                               const CudnnDescriptor& graph, const EngineRules& rules,
                                               const CandidateLimits& limits);

// A plan as one text, and back. What another version or device wrote is an error.
absl::StatusOr<std::string> WritePlan(const CudnnApi& api, const CudnnPlan& plan);
absl::StatusOr<CudnnPlan> ReadPlan(const CudnnApi& api, const CudnnTarget& target, const std::string& text);

// For users: "engine 28: TENSOR_CORE" and the engine's other numerical notes.
absl::StatusOr<std::string> DescribeEngine(const CudnnApi& api, const CudnnPlan& plan);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_ENGINES_H_
