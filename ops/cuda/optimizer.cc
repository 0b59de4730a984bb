// The updates of a node. Outputs may lie at the address of the input they replace.
#include "ops/cuda/optimizer.h"

#include "ops/cuda/own_kernels.h"
#include "ops/cuda/reductions.h"
#include "ops/learning_rate.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaLearningRate(const LocalNode& node) {
  return OwnFloatingKernel(
      node, [schedule = ScheduleOf(node.attributes)](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::LearningRate(dtype, schedule, In<int32_t>(a, 0), Out(a, 0), q);
      });
}

absl::StatusOr<PreparedCudaKernel> CudaIncrement(const LocalNode&) {
  return OwnKernel([](const KernelArguments& a, CudaQueue q) {
    return launch::Increment(In<int32_t>(a, 0), static_cast<int32_t*>(Out(a, 0)), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSumOfSquares(const LocalNode& node) {
  const FlatChunks chunks = MakeFlatChunks(Input(node, 0).elements());
  return OwnFloatingKernel(
      node,
      [chunks](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::SumOfSquares(dtype, chunks, In(a, 0), Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      chunks.partial_bytes());
}

absl::StatusOr<PreparedCudaKernel> CudaClipScale(const LocalNode& node) {
  return OwnFloatingKernel(
      node, [max_norm = node.attributes.Float("max_norm")](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::ClipScale(dtype, In(a, 0), max_norm, Out(a, 0), q);
      });
}

// (w, g, rate, clip?) -> w
absl::StatusOr<PreparedCudaKernel> CudaSgd(const LocalNode& node) {
  launch::SgdLaunch sgd;
  sgd.weight_decay = node.attributes.Float("weight_decay");
  return OwnFloatingKernel(node,
                           [sgd, n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
                             launch::SgdLaunch bound = sgd;
                             bound.rate = In(a, 2);
                             bound.clip = In(a, 3);
                             const launch::SgdTensor tensor{In(a, 0), In(a, 1), nullptr, Out(a, 0), nullptr, n};
                             return launch::Sgd(dtype, bound, &tensor, 1, q);
                           });
}

// (w, g, m, rate, clip?) -> w, m
absl::StatusOr<PreparedCudaKernel> CudaSgdMomentum(const LocalNode& node) {
  launch::SgdLaunch sgd;
  sgd.weight_decay = node.attributes.Float("weight_decay");
  sgd.momentum = node.attributes.Float("momentum");
  sgd.nesterov = node.attributes.Bool("nesterov");
  return OwnFloatingKernel(node,
                           [sgd, n = node.outputs[0].elements()](const KernelArguments& a, DType dtype, CudaQueue q) {
                             launch::SgdLaunch bound = sgd;
                             bound.rate = In(a, 3);
                             bound.clip = In(a, 4);
                             const launch::SgdTensor tensor{In(a, 0), In(a, 1), In(a, 2), Out(a, 0), Out(a, 1), n};
                             return launch::Sgd(dtype, bound, &tensor, 1, q);
                           });
}

}  // namespace partita
