// 3 x 3 convolutions by Winograd's algorithm with the loops of one kind of vectors and tiles
// (ops/host/winograd/loops.h).
#ifndef PARTITA_OPS_HOST_WINOGRAD_CONVOLUTION_H_
#define PARTITA_OPS_HOST_WINOGRAD_CONVOLUTION_H_

#include "absl/status/statusor.h"
#include "ops/host/kernel/host_kernel.h"
#include "ops/host/winograd/loops.h"

namespace partita {

// conv2d, conv2d_epilogue, conv2d_input_grad and conv2d_weight_grad. They refuse what they cannot compute, not what
// they are slow at.
absl::StatusOr<PreparedKernel> PrepareWinogradConv2d(const LocalNode& node, const WinogradLoops& loops);
absl::StatusOr<PreparedKernel> PrepareWinogradConv2dInputGrad(const LocalNode& node, const WinogradLoops& loops);
absl::StatusOr<PreparedKernel> PrepareWinogradConv2dWeightGrad(const LocalNode& node, const WinogradLoops& loops);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_CONVOLUTION_H_
