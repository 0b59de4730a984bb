// Convolutions of stride 1 by Winograd's algorithm along lines, with the loops of one kind of vectors
// (ops/host/winograd/line_loops.h).
#ifndef PARTITA_OPS_HOST_WINOGRAD_LINE_CONVOLUTION_H_
#define PARTITA_OPS_HOST_WINOGRAD_LINE_CONVOLUTION_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/functors/geometry.h"
#include "ops/host/kernel/host_kernel.h"
#include "ops/host/winograd/line_loops.h"

namespace partita {

// conv2d, conv2d_epilogue, conv2d_input_grad and conv2d_weight_grad of any window. They refuse what they cannot
// compute, not what they are slow at.
absl::StatusOr<PreparedKernel> PrepareLineConv2d(const LocalNode& node, const LineLoops& loops);
absl::StatusOr<PreparedKernel> PrepareLineConv2dInputGrad(const LocalNode& node, const LineLoops& loops);
absl::StatusOr<PreparedKernel> PrepareLineConv2dWeightGrad(const LocalNode& node, const LineLoops& loops);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_LINE_CONVOLUTION_H_
