// The sampled softmax of a node.
#include "ops/cuda/launch/sampled_softmax.h"

#include "ops/cuda/own/own_kernels.h"
#include "ops/values/loss_weights.h"

namespace partita {
namespace {

// (own, logits, labels, ids, draws, sample_weight?, ...), without addresses.
launch::SampledRows SampledRowsOf(const LocalNode& node) {
  const LossWeights weights(node, InputShape(node, 0).size(), 5);
  launch::SampledRows rows{{}, LogUniform(node.attributes.Int("classes"))};
  rows.labels.rows = Input(node, 0).elements();
  rows.labels.classes = rows.labels.all_classes = Input(node, 3).elements();
  rows.labels.weight_rows = weights.rows;
  rows.labels.divisor = weights.divisor;
  return rows;
}

launch::SampledRows Bound(launch::SampledRows rows, const KernelArguments& a) {
  rows.own = In(a, 0);
  rows.logits = In(a, 1);
  rows.labels.labels = In<int32_t>(a, 2);
  rows.ids = In<int32_t>(a, 3);
  rows.draws = In<int32_t>(a, 4);
  rows.labels.weights = In(a, 5);
  return rows;
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaLogUniformIds(const LocalNode& node) {
  launch::DifferentDraws draws{LogUniform(node.attributes.Int("classes"))};
  draws.samples = node.attributes.Int("samples");
  draws.most = MostDraws(draws.uniform, draws.samples);
  const auto enqueue = [draws, name = node.attributes.String("key")](const KernelArguments& a, CudaQueue q) {
    launch::DifferentDraws bound = draws;
    bound.key = PhiloxKey(a.seed, name);
    bound.iteration = In<int32_t>(a, 0);
    bound.ids = static_cast<int32_t*>(Out(a, 0));
    bound.draws = static_cast<int32_t*>(Out(a, 1));
    return launch::DrawDifferent(bound, static_cast<int32_t*>(a.workspace), q);
  };
  return OwnKernel(enqueue, draws.workspace_bytes());
}

absl::StatusOr<PreparedCudaKernel> CudaSampledCrossEntropy(const LocalNode& node) {
  const launch::SampledRows rows = SampledRowsOf(node);
  const auto enqueue = [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::SampledCrossEntropy(dtype, Bound(rows, a), Out(a, 0), static_cast<double*>(a.workspace), q);
  };
  return OwnWideKernel(node, enqueue, rows.loss_bytes());
}

absl::StatusOr<PreparedCudaKernel> CudaSampledCrossEntropyGrad(const LocalNode& node) {
  const launch::SampledRows rows = SampledRowsOf(node);
  const auto enqueue = [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::SampledCrossEntropyGrad(dtype, Bound(rows, a), In(a, 6), Out(a, 0), Out(a, 1),
                                           static_cast<double*>(a.workspace), q);
  };
  return OwnWideKernel(node, enqueue, rows.correction_bytes());
}

}  // namespace partita
