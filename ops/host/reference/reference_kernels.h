// The last kernel of every op: plain serial loops for f32 and f64 that follow the definition word by word. Every faster
// kernel is tested against them. Sums over many elements are taken in double.
//
// Blocks may be empty: loops then run zero times, and sums are zero.
#ifndef PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_
#define PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

#define KERNEL(op, function, ...) absl::StatusOr<PreparedKernel> function(const LocalNode& node);
#include "ops/host/reference/reference_kernels.inc"
#undef KERNEL

// Of the lists in ops/functors: elementwise.h, updates/updates.h, updates/row_updates.h.
absl::StatusOr<PreparedKernel> ReferenceUnary(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBinary(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceUpdate(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceRowUpdate(const LocalNode& node);

// relu_mask.cc: a node with y, the result of a relu, as its last input, and what the relu lets through of its input
// `dy` as its last output. The rest of the node reads that in place of dy, by the kernel that `prepare` makes.
absl::StatusOr<PreparedKernel> ReferenceBehindRelu(const LocalNode& node, size_t dy,
                                                   absl::StatusOr<PreparedKernel> (*prepare)(const LocalNode&));

}  // namespace partita

#endif  // PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_
