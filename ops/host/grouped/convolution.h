// The kernels of grouped_kernels.h in the vectors at place `vectors` of those of this machine, the widest first.
#ifndef PARTITA_OPS_HOST_GROUPED_CONVOLUTION_H_
#define PARTITA_OPS_HOST_GROUPED_CONVOLUTION_H_

#include <cstddef>

#include "ops/host/kernel/host_kernel.h"

namespace partita {

absl::StatusOr<PreparedKernel> PrepareGroupedConv2d(const LocalNode& node, size_t vectors);
absl::StatusOr<PreparedKernel> PrepareGroupedConv2dInputGrad(const LocalNode& node, size_t vectors);
absl::StatusOr<PreparedKernel> PrepareGroupedConv2dWeightGrad(const LocalNode& node, size_t vectors);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_CONVOLUTION_H_
