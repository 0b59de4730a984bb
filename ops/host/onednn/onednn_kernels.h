// Kernels on oneDNN: f32, and bf16 where the machine has instructions for it; no empty blocks. Everything else is
// refused, and the next kernel of the list is asked.
//
// Activations stay NHWC; convolution weights take the format that oneDNN likes best and are reordered from or to OHWI
// in each step, in the workspace, which holds oneDNN's scratchpad as well.
#ifndef PARTITA_OPS_HOST_ONEDNN_ONEDNN_KERNELS_H_
#define PARTITA_OPS_HOST_ONEDNN_ONEDNN_KERNELS_H_

#include <string>

#include "ops/host/kernel/host_kernel.h"

namespace partita {

// "oneDNN 2.6.3 isa 0x1ff": its version, and its number for the instructions that it uses here.
std::string OneDnnName();

absl::StatusOr<PreparedKernel> OneDnnConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> OneDnnConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> OneDnnConv2dInputGradSum(const LocalNode& node);  // of single pixels
absl::StatusOr<PreparedKernel> OneDnnConv2dWeightGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> OneDnnMatMul(const LocalNode& node);
absl::StatusOr<PreparedKernel> OneDnnBatchMatMul(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_ONEDNN_ONEDNN_KERNELS_H_
