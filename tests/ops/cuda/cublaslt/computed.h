// Matrix products as the plans of a cuBLASLt, a fake one, compute them.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_COMPUTED_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_COMPUTED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// `launches`: of kernels of ours that are expected.
absl::StatusOr<std::vector<Values>> Computed(const CublasLtApi& api, const LocalNode& node,
                                             const std::vector<Values>& inputs, const RunOptions& options = {},
                                             const CublasLtOptions& library = {}, PlanCache* cache = nullptr,
                                             bool refuse = false, int launches = 0);

// Of f32[m,k] and f32[k,n].
LocalNode Product(int64_t m, int64_t n, int64_t k);
// Of f32[5,7] and f32[7,6] with a bias and a relu; or in mixed precision.
LocalNode ProductWithEpilogue(DType dtype = DType::kF32);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_COMPUTED_H_
