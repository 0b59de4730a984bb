// conv2d_input_grad_sum as its terms, one after the other, and then their sum.
#ifndef PARTITA_OPS_CUDA_OWN_GRADIENT_SUM_H_
#define PARTITA_OPS_CUDA_OWN_GRADIENT_SUM_H_

#include <functional>

#include "ops/cuda/kernel/cuda_kernel.h"

namespace partita {

// `prepare` makes the kernel of a term (ops/values/gradient_terms.h); its refusal is that of the sum. Terms behind the
// first lie in the workspace.
absl::StatusOr<PreparedCudaKernel> GradientSum(
    const LocalNode& node, const std::function<absl::StatusOr<PreparedCudaKernel>(const LocalNode& term)>& prepare);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_OWN_GRADIENT_SUM_H_
