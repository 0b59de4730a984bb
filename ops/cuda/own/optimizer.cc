// The updates of a node. Outputs may lie at the address of the input they replace.
#include "ops/cuda/launch/optimizer.h"

#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/updates.h"
#include "ops/values/learning_rate.h"
#include "ops/values/update_attributes.h"

namespace partita {

absl::StatusOr<PreparedCudaKernel> CudaLearningRate(const LocalNode& node) {
  return OwnWideKernel(node,
                       [schedule = ScheduleOf(node.attributes)](const KernelArguments& a, DType dtype, CudaQueue q) {
                         return launch::LearningRate(dtype, schedule, In<int32_t>(a, 0), Out(a, 0), q);
                       });
}

absl::StatusOr<PreparedCudaKernel> CudaIncrement(const LocalNode&) {
  return OwnKernel([](const KernelArguments& a, CudaQueue q) {
    return launch::Increment(In<int32_t>(a, 0), In<int32_t>(a, 1), static_cast<int32_t*>(Out(a, 0)), q);
  });
}

namespace {

// (loss, squares?, iteration) -> apply, rate, the next iteration
absl::StatusOr<PreparedCudaKernel> StepScalars(const LocalNode& node) {
  return OwnKernelOf(node.outputs[1].dtype,
                     [schedule = ScheduleOf(node.attributes)](const KernelArguments& a, DType dtype, CudaQueue q) {
                       launch::StepScalarAddresses scalars{In(a, 0), In(a, 1), In<int32_t>(a, 2)};
                       scalars.refused = a.refused;
                       scalars.apply = static_cast<int32_t*>(Out(a, 0));
                       scalars.rate = Out(a, 1);
                       scalars.next = static_cast<int32_t*>(Out(a, 2));
                       return launch::StepScalars(dtype, schedule, scalars, q);
                     });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaAllFinite(const LocalNode& node) {
  if (node.outputs.size() > 1) return StepScalars(node);
  return OwnKernelOfElements(node, [](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::AllFinite(dtype, In(a, 0), In(a, 1), a.refused, static_cast<int32_t*>(Out(a, 0)), q);
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

// A parameter without addresses.
template <typename F>
launch::UpdateTensor<F> TensorOf(const LocalNode& member) {
  launch::UpdateTensor<F> tensor;
  tensor.elements = member.outputs[0].elements();
  tensor.narrow_gradient = UpdateFormOf<F>(member).narrow_gradient;
  return tensor;
}

// All members in as few launches as hold them.
template <typename F>
absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return InvalidArgument("dtype is {}, allowed are f32 and f64", Name(dtype));
  }
  const auto members = static_cast<size_t>(node.members);
  const size_t inputs = node.inputs.size() / members, outputs = node.outputs.size() / members;
  std::vector<launch::UpdateTensor<F>> parameters;
  for (int m = 0; m < node.members; ++m) parameters.push_back(TensorOf<F>(MemberOf(node, m)));
  const F update = UpdateWith<F>(node.attributes);
  return OwnKernelOf(dtype, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    launch::UpdateAddresses scalars{In(a, kRateInput<F>), In<int32_t>(a, kApplyInput<F>), In(a, kClipInput<F>),
                                    nullptr};
    if (F::kCountsSteps) scalars.iteration = In<int32_t>(a, kIterationInput<F>);
    std::vector<launch::UpdateTensor<F>> tensors = parameters;
    for (size_t m = 0; m < members; ++m) {
      const size_t in = m * inputs, out = m * outputs;
      launch::UpdateTensor<F>& tensor = tensors[m];
      tensor.w = In(a, in);
      tensor.g = In(a, in + 1);
      tensor.new_w = Out(a, out);
      if (outputs > 1 + F::kSlots.size()) tensor.rounded = Out(a, out + outputs - 1);
      for (size_t s = 0; s < F::kSlots.size(); ++s) {
        tensor.slots[s] = In(a, in + 2 + s);
        tensor.new_slots[s] = Out(a, out + 1 + s);
      }
    }
    return launch::Update(dtype, update, scalars, tensors.data(), static_cast<int>(members), q);
  });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaUpdate(const LocalNode& node) {
  return WithUpdate(node.op->name, [&]<typename F>() { return Prepare<F>(node); });
}

}  // namespace partita
