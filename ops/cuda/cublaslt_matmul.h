// Matrix products on cuBLASLt: f32 (TF32 where it is allowed), f64, and bf16 with f32 sums; either operand transposed.
//
// For each kind of product and alignment of its operands an algorithm is chosen once: the first that the library's
// heuristics name or, where runs need not repeat each other's bits, the fastest of the first few (timed). It is kept as
// the library's own 64 bytes (PlanCache), so equal products get equal bits on all ranks that share plans. cuBLASLt's
// algorithms are deterministic.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_
#define PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ops/cuda/cublaslt_api.h"
#include "ops/cuda/cuda_kernel.h"
#include "ops/cuda/plan_cache.h"
#include "ops/cuda/plan_timer.h"

namespace partita {

struct CublasLtOptions {
  bool allow_tf32 = false;
  std::string device = "";    // model and capability, as part of keys: "NVIDIA H200 sm_90"
  PlanTimer timer = nullptr;  // null: the heuristics decide
};

struct MatMulPlan;

// Thread-safe. Kernels that it prepared keep it alive.
class CublasLtMatMuls : public std::enable_shared_from_this<CublasLtMatMuls> {
 public:
  // For the GPU that is the calling thread's; `cache` must outlive everything. Errors are those of cublasLtCreate.
  static absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> Create(const CublasLtApi& api, CublasLtOptions options,
                                                                 PlanCache* cache);
  ~CublasLtMatMuls();

  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node);

 private:
  CublasLtMatMuls(const CublasLtApi& api, CublasLtOptions options, PlanCache* cache)
      : api_(api), options_(std::move(options)), cache_(cache) {}
  absl::Status Run(const MatMulPlan& plan, const KernelArguments& arguments, CudaQueue queue) const;

  const CublasLtApi api_;
  const CublasLtOptions options_;
  PlanCache* const cache_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const MatMulPlan>> plans_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_
