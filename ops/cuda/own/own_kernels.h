// The kernels of our own .cu files: one for every op, the last of its list. f32, f64 and, where mixed precision wants
// it, bf16 (moves of bytes: any dtype).
#ifndef PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_
#define PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_

#include "ops/cuda/kernel/cuda_kernel.h"

namespace partita {

#define KERNEL(op, function, ...) absl::StatusOr<PreparedCudaKernel> function(const LocalNode& node);
#include "ops/cuda/own/own_kernels.inc"
#undef KERNEL

// Of the lists in ops/functors: elementwise.h, updates/updates.h, updates/row_updates.h.
absl::StatusOr<PreparedCudaKernel> CudaUnary(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBinary(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaUpdate(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaRowUpdate(const LocalNode& node);

// lstm_steps and its gradients; refuses those whose products a library computes faster.
absl::StatusOr<PreparedCudaKernel> CudaLstmOfFewRows(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_
