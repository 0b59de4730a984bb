// The updates of a node. Outputs may lie at the address of the input they replace.
#include "ops/cuda/launch/optimizer.h"

#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/updates/updates.h"
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

// (loss, squares?, iteration) -> apply, rate, the next iteration, and the clip's factor if there is a fourth output
absl::StatusOr<PreparedCudaKernel> StepScalars(const LocalNode& node) {
  const double max_norm = node.outputs.size() > 3 ? node.attributes.Float("max_norm") : 0;
  return OwnKernelOf(node.outputs[1].dtype, [schedule = ScheduleOf(node.attributes), max_norm](
                                                const KernelArguments& a, DType dtype, CudaQueue q) {
    launch::StepScalarAddresses scalars{In(a, 0), In(a, 1), In<int32_t>(a, 2)};
    scalars.refused = a.refused;
    scalars.apply = static_cast<int32_t*>(Out(a, 0));
    scalars.rate = Out(a, 1);
    scalars.next = static_cast<int32_t*>(Out(a, 2));
    if (a.outputs.size() > 3) scalars.clip = Out(a, 3);
    return launch::StepScalars(dtype, schedule, max_norm, scalars, q);
  });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaAllFinite(const LocalNode& node) {
  if (node.outputs.size() > 1) return StepScalars(node);
  return OwnKernelOfElements(node, [](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::AllFinite(dtype, In(a, 0), In(a, 1), a.refused, static_cast<int32_t*>(Out(a, 0)), q);
  });
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

// What is known of the members of a launch before it has addresses.
template <typename F>
struct UpdateMembers {
  size_t inputs = 0, outputs = 0;  // of each
  std::vector<launch::UpdateTensor<F>> tensors;
  std::vector<GroupUpdate<F>> updates;

  void SetAddresses(const KernelArguments& a, size_t m, launch::UpdateTensor<F>& tensor) const {
    const size_t in = m * inputs, out = m * outputs;
    tensor.w = In(a, in);
    tensor.g = In(a, in + 1);
    tensor.new_w = Out(a, out);
    if (outputs > 1 + F::kSlots.size()) tensor.rounded = Out(a, out + outputs - 1);
    if constexpr (ReadsNorms<F>) {
      tensor.w_squares = In(a, in + kNormInputs<F>);
      tensor.g_squares = In(a, in + kNormInputs<F> + 1);
    }
    for (size_t s = 0; s < F::kSlots.size(); ++s) {
      tensor.slots[s] = In(a, in + 2 + s);
      tensor.new_slots[s] = Out(a, out + 1 + s);
    }
  }
};

template <typename F>
UpdateMembers<F> MembersOf(const LocalNode& node) {
  UpdateMembers<F> members;
  const auto count = static_cast<size_t>(node.members);
  members.inputs = node.inputs.size() / count;
  members.outputs = node.outputs.size() / count;
  for (int m = 0; m < node.members; ++m) {
    const LocalNode member = MemberOf(node, m);
    members.tensors.push_back(TensorOf<F>(member));
    members.updates.push_back(UpdateWith<F>(member.attributes));
  }
  return members;
}

// Members in as few launches as hold them and what their groups differ in.
template <typename F>
class Launching {
 public:
  Launching(const UpdateMembers<F>& members, const KernelArguments& a, DType dtype, CudaQueue queue)
      : members_(members), a_(a), dtype_(dtype), queue_(queue) {
    scalars_ = {In(a, kRateInput<F>), In<int32_t>(a, kApplyInput<F>), nullptr};
    if (F::kCountsSteps) scalars_.iteration = In<int32_t>(a, kIterationInput<F>);
  }

  LaunchError All() {
    for (size_t m = 0; m < members_.tensors.size(); ++m) {
      int set = SetOf(m);
      if (set == launch::kUpdateSets) {
        if (const LaunchError error = Flush(); error != kLaunched) return error;
        set = 0;
      }
      if (set == static_cast<int>(sets_.size())) sets_.push_back({members_.updates[m], ClipOf(m)});
      tensors_.push_back(members_.tensors[m]);
      members_.SetAddresses(a_, m, tensors_.back());
      tensors_.back().set = set;
    }
    return Flush();
  }

 private:
  const void* ClipOf(size_t m) const { return In(a_, m * members_.inputs + kClipInput<F>); }

  // Its place among the sets; behind them if it is none of them.
  int SetOf(size_t m) const {
    size_t set = 0;
    while (set < sets_.size() && !(sets_[set].clip == ClipOf(m) && sets_[set].update == members_.updates[m])) ++set;
    return static_cast<int>(set);
  }

  LaunchError Flush() {
    const LaunchError error = launch::Update(dtype_, sets_.data(), static_cast<int>(sets_.size()), scalars_,
                                             tensors_.data(), static_cast<int>(tensors_.size()), queue_);
    sets_.clear();
    tensors_.clear();
    return error;
  }

  const UpdateMembers<F>& members_;
  const KernelArguments& a_;
  const DType dtype_;
  const CudaQueue queue_;
  launch::UpdateAddresses scalars_;
  std::vector<launch::UpdateSet<F>> sets_;
  std::vector<launch::UpdateTensor<F>> tensors_;
};

template <typename F>
absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return InvalidArgument("dtype is {}, allowed are f32 and f64", Name(dtype));
  }
  return OwnKernelOf(dtype, [members = MembersOf<F>(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return Launching<F>(members, a, dtype, q).All();
  });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaUpdate(const LocalNode& node) {
  return WithUpdate(node.op->name, [&]<typename F>() { return Prepare<F>(node); });
}

}  // namespace partita
