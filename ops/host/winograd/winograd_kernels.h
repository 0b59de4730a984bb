// Convolutions of stride 1 by Winograd's algorithm: f32, worthwhile where they are likely to be faster than others.
// Everything else is refused, and the next kernel of the list is asked.
#ifndef PARTITA_OPS_HOST_WINOGRAD_WINOGRAD_KERNELS_H_
#define PARTITA_OPS_HOST_WINOGRAD_WINOGRAD_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

absl::StatusOr<PreparedKernel> WinogradConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> WinogradConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> WinogradConv2dWeightGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_WINOGRAD_KERNELS_H_
