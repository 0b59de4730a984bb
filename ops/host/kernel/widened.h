// A bf16 node on a kernel for f32: what is bf16 is widened into the workspace, the kernel runs there, and what it makes
// is rounded. So every op has bf16, computed in f32 and rounded once, from the kernels that it has.
#ifndef PARTITA_OPS_HOST_KERNEL_WIDENED_H_
#define PARTITA_OPS_HOST_KERNEL_WIDENED_H_

#include "ops/host/kernel/host_kernel.h"
#include "runtime/base/bf16.h"

namespace partita {

// `n` elements in the other type.
void WidenRun(const Bf16* from, float* to, int64_t n);
void RoundRun(const float* from, Bf16* to, int64_t n);

// Whether the node reads or writes bf16.
bool HasBf16(const LocalNode& node);

// Refuses what `prepare` refuses of the same node in f32. Reads and writes of parts of larger tensors
// (LocalNode::within) what the part is, and nothing around it.
absl::StatusOr<PreparedKernel> PrepareWidened(HostKernelFactory prepare, const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_WIDENED_H_
