// Kernels on rows with labels: inputs (logits, labels, ...).
#ifndef PARTITA_OPS_CUDA_LABELLED_KERNEL_H_
#define PARTITA_OPS_CUDA_LABELLED_KERNEL_H_

#include "ops/cuda/cuda_kernel.h"
#include "ops/cuda/label_fault.h"

namespace partita {

// OwnFloatingKernel whose launch leaves a LabelFault's word; it is explained in the host's words (ops/host/labels.h).
template <typename F>
absl::StatusOr<PreparedCudaKernel> OwnLabelledKernel(const LocalNode& node, F launch, int64_t workspace_bytes = 0) {
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnFloatingKernel(node, launch, workspace_bytes));
  kernel.explain = [first = Input(node, 0).box.offset[0], classes = Input(node, 0).global[1]](uint64_t word) {
    const launch::LabelFault fault = launch::LabelFault::Of(word);
    return InvalidArgument("sample {} of the batch has label {}, allowed are 0 to {}", first + fault.row, fault.label,
                           classes - 1);
  };
  return kernel;
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LABELLED_KERNEL_H_
