// Convolutions of other windows than 3 x 3 by Winograd's algorithm, with the loops that suit them: what they cannot
// compute is refused, and whether the rest is worthwhile is said (PreparedKernel::worthwhile).
#ifndef PARTITA_OPS_HOST_WINOGRAD_LINE_CHOICE_H_
#define PARTITA_OPS_HOST_WINOGRAD_LINE_CHOICE_H_

#include "absl/status/statusor.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

absl::StatusOr<PreparedKernel> LineConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> LineConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> LineConv2dWeightGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LINE_CHOICE_H_
