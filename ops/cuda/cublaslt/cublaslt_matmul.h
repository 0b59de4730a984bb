// Matrix products on cuBLASLt: f32 (TF32 where it is allowed), f64, and bf16 with f32 sums; either operand transposed.
//
// For each kind of product and alignment of its operands an algorithm is chosen once: the first that the library's
// heuristics name or, where runs need not repeat each other's bits and operands lie at multiples of 16 bytes, the
// fastest of the first few (timed). Where the library has none for other addresses, a node whose operands turn out to
// lie at such is bound to our own kernel, and an LSTM is refused. An algorithm is kept as
// the library's own 64 bytes (PlanCache), so equal products get equal bits on all ranks that share plans. cuBLASLt's
// algorithms are deterministic.
//
// Bias and relu are the library's epilogue. It takes a bias of y's type alone, so one of f32 before a bf16 y is rounded
// into the workspace first, like the weights; one at an odd address is copied there. Where the library has no algorithm
// for the epilogue, a launch of ours follows the product. A bias's gradient beside a weight's works alike: the library
// sums the rows of an operand while it multiplies, or launches of ours do so after it. A product writes its relu's mask
// and the gradient's product reads it, or launches of ours do so; both masks are bitwise identical, so the two forms
// can be mixed. The library may make a zero of a NaN in relu; ours never does.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_
#define PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ops/cuda/cublaslt/cublaslt_api.h"
#include "ops/cuda/cublaslt/matmul_plan.h"
#include "ops/cuda/cublaslt/matmul_product.h"
#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/plans/plan_cache.h"

namespace partita {

// Thread-safe. Kernels that it prepared keep it alive.
class CublasLtMatMuls : public std::enable_shared_from_this<CublasLtMatMuls> {
 public:
  // For the GPU that is the calling thread's; `cache` must outlive everything. Errors are those of cublasLtCreate.
  static absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> Create(const CublasLtApi& api, CublasLtOptions options,
                                                                 PlanCache* cache);
  ~CublasLtMatMuls();

  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node);

  // The steps of an LSTM and their gradients: the library's products, launches of ours between them (cublaslt_lstm.cc).
  absl::StatusOr<PreparedCudaKernel> PrepareLstm(const LocalNode& node);

 private:
  CublasLtMatMuls(const CublasLtApi& api, CublasLtOptions options, PlanCache* cache)
      : api_(api), options_(std::move(options)), cache_(cache) {}
  using SharedPlan = std::shared_ptr<const MatMulPlan>;

  // Takes operands that lie at multiples of 16 bytes, and others if the plan does.
  PreparedCudaKernel PrepareWith(const SharedPlan& plan, const LocalNode& node);
  // Of a product with an epilogue it may be one of the product alone.
  absl::StatusOr<SharedPlan> FindPlan(const MatMulProduct& product);
  absl::StatusOr<CudaEnqueue> Bind(const SharedPlan& plan, const MatMulProduct& wanted, const KernelArguments& a);
  absl::StatusOr<CudaEnqueue> BindWithBiasGradient(const SharedPlan& plan, const KernelArguments& a);
  absl::StatusOr<CudaEnqueue> BindAndAddRows(const SharedPlan& plan, const MatMulProduct& product,
                                             const KernelArguments& a);
  absl::Status Run(const MatMulPlan& plan, cublasLtMatmulDesc_t operation, const KernelArguments& arguments,
                   CudaQueue queue) const;

  const CublasLtApi api_;
  const CublasLtOptions options_;
  PlanCache* const cache_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, SharedPlan> plans_;
};

// What a plan can say where there is no GPU, since the library's heuristics know but that of the calling thread: takes
// what Prepare takes, with the most workspace that any algorithm may have here. Never bound.
absl::StatusOr<PreparedCudaKernel> EstimateMatMul(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> EstimateLstm(const LocalNode& node);  // what PrepareLstm takes

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_
