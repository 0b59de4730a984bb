// Convolutions whose groups have one input and one output channel each (depthwise ones), or 4 or 8, in f32, f64 and
// bf16, and their gradients. They refuse all others; where oneDNN is likely to be faster, they are there to be
// measured.
#ifndef PARTITA_OPS_HOST_GROUPED_GROUPED_KERNELS_H_
#define PARTITA_OPS_HOST_GROUPED_GROUPED_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

absl::StatusOr<PreparedKernel> GroupedConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> GroupedConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> GroupedConv2dWeightGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_GROUPED_KERNELS_H_
