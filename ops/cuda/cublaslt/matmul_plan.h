// A plan of cuBLASLt for a product: its description, made once, and the chosen algorithm.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PLAN_H_
#define PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PLAN_H_

#include <algorithm>
#include <memory>
#include <string>

#include "ops/cuda/cublaslt/cublaslt_api.h"
#include "ops/cuda/cublaslt/matmul_product.h"
#include "ops/cuda/plans/plan_timer.h"
#include "ops/plans/plan_cache.h"
#include "runtime/base/alignment.h"

namespace partita {

struct CublasLtOptions {
  bool allow_tf32 = false;
  std::string device = "";    // model and capability, as part of keys: "NVIDIA H200 sm_90"
  PlanTimer timer = nullptr;  // null: the heuristics decide
  PlanLoader load = nullptr;  // null: nothing is captured
};

inline constexpr uintptr_t kVectorBytes = 16;                   // what fast algorithms want of addresses
inline constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // what the library's guide asks for on Hopper

// The library refuses a workspace elsewhere; a plan gives multiples of kAlignment, so we ask for what may be skipped.
inline constexpr int64_t kWorkspaceAlignment = 256;
inline constexpr int64_t kMostSkipped = kWorkspaceAlignment - kAlignment;

using CublasLtOperation = std::shared_ptr<cublasLtMatmulDescOpaque_t>;
using CublasLtMatrix = std::shared_ptr<cublasLtMatrixLayoutOpaque_t>;

// Row-major y = x w is column-major y' = w' x', the same bytes read as transposes: cuBLASLt's A is w, its B is x.
struct MatMulPlan {
  MatMulProduct product;        // without the node's epilogue, if the library does not take that
  CublasLtOperation operation;  // with a bias and a mask that are nowhere
  CublasLtMatrix a, b, d;
  // For operands at multiples of 16 bytes, and for any, for which the library may have none.
  cublasLtMatmulHeuristicResult_t aligned;
  absl::StatusOr<cublasLtMatmulHeuristicResult_t> unaligned;

  // The library's part of the workspace. Behind it lies the bias where it has to be copied.
  int64_t library_bytes() const {
    const size_t any = unaligned.ok() ? unaligned->workspaceSize : 0;
    return AlignUp(static_cast<int64_t>(std::max(aligned.workspaceSize, any)));
  }
  int64_t workspace_bytes() const {
    const int64_t used = library_bytes() + product.bias_bytes();
    return used == 0 ? 0 : used + kMostSkipped;
  }
};

struct MatMulAddresses {
  const void *x, *w;
  void *y, *workspace;
};

// Of what a product has besides its operands; null where it has none.
struct EpilogueAddresses {
  const void *bias = nullptr, *mask = nullptr;
};

// What is multiplied and how. The library adds a bias to the rows of its column-major matrix: the channels. A column of
// its masks is a row of ours. kInvalidArgument: an epilogue that the library has no name for.
absl::StatusOr<CublasLtOperation> MakeOperation(const CublasLtApi& api, const MatMulProduct& product, bool allow_tf32,
                                                const EpilogueAddresses& at);

// For the GPU that is the calling thread's; the first error ends it. kInvalidArgument: no algorithm computes it, even
// of aligned operands. The algorithm for others is never timed: they are rare.
absl::StatusOr<std::shared_ptr<const MatMulPlan>> MakeMatMulPlan(const CublasLtApi& api, cublasLtHandle_t handle,
                                                                 const MatMulProduct& product,
                                                                 const CublasLtOptions& options, PlanCache& cache);

// Enqueues y = x w, and the epilogue that `operation` has.
absl::Status Multiply(const CublasLtApi& api, cublasLtHandle_t handle, const MatMulPlan& plan,
                      cublasLtMatmulDesc_t operation, const cublasLtMatmulHeuristicResult_t& chosen,
                      const MatMulAddresses& at, CudaQueue queue);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PLAN_H_
