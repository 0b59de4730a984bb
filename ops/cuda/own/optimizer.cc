// The updates of a node. Outputs may lie at the address of the input they replace.
#include "ops/cuda/launch/optimizer.h"

#include <vector>

#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/learning_rate.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaLearningRate(const LocalNode& node) {
  return OwnWideKernel(node,
                       [schedule = ScheduleOf(node.attributes)](const KernelArguments& a, DType dtype, CudaQueue q) {
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
  return OwnWideKernel(
      node,
      [chunks](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::SumOfSquares(dtype, chunks, In(a, 0), Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      chunks.partial_bytes());
}

absl::StatusOr<PreparedCudaKernel> CudaClipScale(const LocalNode& node) {
  return OwnWideKernel(
      node, [max_norm = node.attributes.Float("max_norm")](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::ClipScale(dtype, In(a, 0), max_norm, Out(a, 0), q);
      });
}

namespace {

// (w, g, rate, clip?) -> w and (w, g, m, rate, clip?) -> w, m, of all members in as few launches as hold them.
absl::StatusOr<PreparedCudaKernel> Updates(const LocalNode& node, const launch::SgdLaunch& sgd, bool momentum) {
  const auto members = static_cast<size_t>(node.members);
  const size_t inputs = node.inputs.size() / members, outputs = node.outputs.size() / members;
  std::vector<int64_t> elements;
  for (size_t m = 0; m < members; ++m) elements.push_back(node.outputs[m * outputs].elements());
  return OwnWideKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    const size_t rate = momentum ? 3 : 2;
    launch::SgdLaunch bound = sgd;
    bound.rate = In(a, rate);
    bound.clip = rate + 1 < inputs ? In(a, rate + 1) : nullptr;
    std::vector<launch::SgdTensor> tensors;
    for (size_t m = 0; m < members; ++m) {
      const size_t in = m * inputs, out = m * outputs;
      tensors.push_back({In(a, in), In(a, in + 1), momentum ? In(a, in + 2) : nullptr, Out(a, out),
                         momentum ? Out(a, out + 1) : nullptr, elements[m]});
    }
    return launch::Sgd(dtype, bound, tensors.data(), static_cast<int>(tensors.size()), q);
  });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaSgd(const LocalNode& node) {
  launch::SgdLaunch sgd;
  sgd.weight_decay = node.attributes.Float("weight_decay");
  return Updates(node, sgd, false);
}

absl::StatusOr<PreparedCudaKernel> CudaSgdMomentum(const LocalNode& node) {
  launch::SgdLaunch sgd;
  sgd.weight_decay = node.attributes.Float("weight_decay");
  sgd.momentum = node.attributes.Float("momentum");
  sgd.nesterov = node.attributes.Bool("nesterov");
  return Updates(node, sgd, true);
}

}  // namespace partita
