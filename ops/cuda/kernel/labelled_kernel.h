// Kernels on rows with labels: inputs (logits, labels, ...).
#ifndef PARTITA_OPS_CUDA_KERNEL_LABELLED_KERNEL_H_
#define PARTITA_OPS_CUDA_KERNEL_LABELLED_KERNEL_H_

#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/cuda/launch/labelled_rows.h"
#include "ops/values/index_places.h"
#include "ops/values/loss_weights.h"

namespace partita {

inline launch::LabelledRows Weighed(launch::LabelledRows rows, const LossWeights& weights) {
  rows.weight_rows = weights.rows;
  rows.divisor = weights.divisor;
  rows.ignored = weights.ignored;
  return rows;
}

// (logits, labels, sample_weight?) of a loss or of accuracy, without addresses.
inline launch::LabelledRows RowsOf(const LocalNode& node) {
  launch::LabelledRows rows;
  const Shape& logits = InputShape(node, 0);
  rows.rows = MakeRows(logits).rows;
  rows.classes = logits.back();
  rows.all_classes = Input(node, 0).global.back();
  rows.first_class = Input(node, 0).box.offset.back();
  rows = Weighed(rows, LossWeights(node, logits.size() - 1, 2));
  if (node.attributes.Has("label_smoothing")) rows.smoothing = node.attributes.Float("label_smoothing");
  return rows;
}

inline launch::LabelledRows Bound(launch::LabelledRows rows, const KernelArguments& a) {
  rows.logits = In(a, 0);
  rows.labels = In<int32_t>(a, 1);
  rows.weights = In(a, 2);
  rows.fault = a.fault;
  return rows;
}

// The workspace of a sum over rows.
inline int64_t RowBytes(const launch::LabelledRows& rows) { return rows.rows * static_cast<int64_t>(sizeof(double)); }

// OwnWideKernel whose launch leaves a LabelFault's word; it is explained in the host's words
// (ops/host/kernel/labels.h).
template <typename F>
absl::StatusOr<PreparedCudaKernel> OwnLabelledKernel(const LocalNode& node, F launch, int64_t workspace_bytes = 0) {
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnWideKernel(node, launch, workspace_bytes));
  kernel.explain = [labels = IndexPlaces(node, 1), classes = Input(node, 0).global.back()](uint64_t word) {
    const launch::LabelFault fault = launch::LabelFault::Of(word);
    return labels.Refused("label", fault.row, fault.label, classes - 1);
  };
  return kernel;
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LABELLED_KERNEL_H_
