// Computes one node at once, on the calling thread, by the last kernel of its list: plain loops, no library, no OpenMP,
// no stream. It is the witness that other kernels are compared with (runtime/api/f64_graph.h).
#ifndef PARTITA_OPS_HOST_COMPUTE_BY_REFERENCE_H_
#define PARTITA_OPS_HOST_COMPUTE_BY_REFERENCE_H_

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "runtime/exec/kernel.h"

namespace partita {

// The workspace of `arguments` is ignored: the call allocates what the kernel needs. kInvalidArgument: the op has no
// kernel, the kernel refuses the node, or the data are out of range (a label that is no class).
absl::Status ComputeByReference(const LocalNode& node, KernelArguments arguments);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_COMPUTE_BY_REFERENCE_H_
