#include "tests/ops/cuda/cublaslt/computed.h"

#include "runtime/base/status.h"
#include "tests/ops/cuda/kernel/host_queue.h"

namespace partita {

absl::StatusOr<std::vector<Values>> Computed(const CublasLtApi& api, const LocalNode& node,
                                             const std::vector<Values>& inputs, const RunOptions& options,
                                             const CublasLtOptions& library, PlanCache* cache, bool refuse,
                                             int launches) {
  PlanCache fresh;
  ASSIGN_OR_RETURN(const std::shared_ptr<CublasLtMatMuls> products,
                   CublasLtMatMuls::Create(api, library, cache == nullptr ? &fresh : cache));
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, products->Prepare(node));
  return RunOnBuffers(node, inputs, options, prepared.workspace_bytes, "cublaslt",
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
                        HostQueue queue;
                        queue.refuse = refuse;
                        queue.launches_allowed = launches;
                        return enqueue(&queue);
                      });
}

LocalNode Product(int64_t m, int64_t n, int64_t k) {
  return WholeNode("matmul", {}, {TensorType{DType::kF32, {m, k}}, TensorType{DType::kF32, {k, n}}});
}

LocalNode ProductWithEpilogue(DType dtype) {
  const LocalNode node =
      WholeNode("matmul_epilogue", {{"activation", "relu"}},
                {TensorType{DType::kF32, {5, 7}}, TensorType{DType::kF32, {7, 6}}, TensorType{DType::kF32, {6}}});
  return dtype == DType::kBF16 ? InBf16(node) : node;
}

}  // namespace partita
