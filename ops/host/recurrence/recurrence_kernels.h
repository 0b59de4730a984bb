// The fast kernels of ops on sequences, f32.
#ifndef PARTITA_OPS_HOST_RECURRENCE_RECURRENCE_KERNELS_H_
#define PARTITA_OPS_HOST_RECURRENCE_RECURRENCE_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

// attention.cc
absl::StatusOr<PreparedKernel> FastAttentionContext(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastAttentionContextGrad(const LocalNode& node);

// dot_product_attention.cc
absl::StatusOr<PreparedKernel> FastDotProductForward(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastDotProductGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastDotProductBiasGrad(const LocalNode& node);

// lstm.cc
absl::StatusOr<PreparedKernel> FastLstmSteps(const LocalNode& node);

// lstm_grad.cc, with and without projection
absl::StatusOr<PreparedKernel> FastLstmStepsGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_RECURRENCE_KERNELS_H_
