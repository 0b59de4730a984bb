// Matrix products on cuBLASLt: f32 (TF32 where it is allowed) and f64, either operand transposed.
//
// The library's heuristics name an algorithm for each alignment of the operands once per kind of product; it is kept,
// so equal products get equal bits on all ranks of a process. cuBLASLt's algorithms are deterministic.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_
#define PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ops/cuda/cublaslt_api.h"
#include "ops/cuda/cuda_kernel.h"

namespace partita {

struct MatMulPlan;

// Thread-safe. Kernels that it prepared keep it alive.
class CublasLtMatMuls : public std::enable_shared_from_this<CublasLtMatMuls> {
 public:
  // For the GPU that is the calling thread's. Errors are those of cublasLtCreate.
  static absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> Create(const CublasLtApi& api, bool allow_tf32);
  ~CublasLtMatMuls();

  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node);

 private:
  CublasLtMatMuls(const CublasLtApi& api, bool allow_tf32) : api_(api), allow_tf32_(allow_tf32) {}
  absl::Status Run(const MatMulPlan& plan, const KernelArguments& arguments, CudaQueue queue) const;

  const CublasLtApi api_;
  const bool allow_tf32_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const MatMulPlan>> plans_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_MATMUL_H_
