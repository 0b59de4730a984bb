// Convolutions whose groups have one input and one output channel each, in f32, f64 and bf16, and their gradients. They
// refuse all others; where oneDNN is likely to be faster, they are there to be measured.
#ifndef PARTITA_OPS_HOST_DEPTHWISE_DEPTHWISE_KERNELS_H_
#define PARTITA_OPS_HOST_DEPTHWISE_DEPTHWISE_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

absl::StatusOr<PreparedKernel> DepthwiseConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> DepthwiseConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> DepthwiseConv2dWeightGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_DEPTHWISE_DEPTHWISE_KERNELS_H_
