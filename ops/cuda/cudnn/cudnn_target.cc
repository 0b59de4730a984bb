#include "ops/cuda/cudnn/cudnn_target.h"

#include <utility>

namespace partita {

absl::StatusOr<CudnnTarget> DescribedTarget(const CudnnApi& api, const std::string& json) {
  CudnnTarget target;
  ASSIGN_OR_RETURN(target.described, CudnnBuilder(api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a GPU's description")
                                         .Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                              static_cast<int64_t>(json.size()), json.data())
                                         .Finalize());
  return target;
}

CudnnBuilder PlanFor(const CudnnApi& api, const CudnnTarget& target, std::string what) {
  CudnnBuilder plan(api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, std::move(what));
  if (target.described == nullptr) {
    plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  } else {
    plan.Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.described);
  }
  return plan;
}

CudnnBuilder HeuristicsFor(const CudnnApi& api, const CudnnTarget& target) {
  CudnnBuilder heuristics(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "the heuristics");
  if (target.described != nullptr) heuristics.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.described);
  return heuristics;
}

}  // namespace partita
