// Reference kernels of the updates. Outputs may lie at the address of the input they replace.
#include <array>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/functors/apply.h"
#include "ops/functors/clip.h"
#include "ops/functors/updates/updates.h"
#include "ops/host/kernel/update_arguments.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/learning_rate.h"
#include "ops/values/update_attributes.h"
#include "runtime/base/bf16.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceLearningRate(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype,
                          [schedule = ScheduleOf(node.attributes)]<typename T>(const KernelArguments& a) {
                            *Out<T>(a, 0) = static_cast<T>(schedule.Rate(*In<int32_t>(a, 0)));
                          });
}

absl::StatusOr<PreparedKernel> ReferenceIncrement(const LocalNode&) {
  return Prepared(
      [](const KernelArguments& a) { *Out<int32_t>(a, 0) = *In<int32_t>(a, 0) + Applies(In<int32_t>(a, 1)); });
}

namespace {

template <typename T>
int32_t AllFinite(const KernelArguments& a) {
  const T *loss = In<T>(a, 0), *squares = In<T>(a, 1);
  return ApplyBehind(IsFinite(*loss) && (squares == nullptr || IsFinite(*squares)), a.refused);
}

// (loss, squares?, iteration) -> apply, rate, the next iteration, and the clip's factor if there is a fourth output
absl::StatusOr<PreparedKernel> StepScalars(const LocalNode& node) {
  const double max_norm = node.outputs.size() > 3 ? node.attributes.Float("max_norm") : 0;
  return PreparedFloating(node.outputs[1].dtype,
                          [schedule = ScheduleOf(node.attributes), max_norm]<typename T>(const KernelArguments& a) {
                            const int32_t apply = AllFinite<T>(a), iteration = *In<int32_t>(a, 2);
                            *Out<int32_t>(a, 0) = apply;
                            *Out<T>(a, 1) = static_cast<T>(schedule.Rate(iteration));
                            *Out<int32_t>(a, 2) = iteration + apply;
                            if (a.outputs.size() > 3) *Out<T>(a, 3) = ClipScale(*In<T>(a, 1), max_norm);
                          });
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceAllFinite(const LocalNode& node) {
  if (node.outputs.size() > 1) return StepScalars(node);
  return PreparedFloating(Input(node, 0).dtype,
                          []<typename T>(const KernelArguments& a) { *Out<int32_t>(a, 0) = AllFinite<T>(a); });
}

absl::StatusOr<PreparedKernel> ReferenceSumOfSquares(const LocalNode& node) {
  std::vector<int64_t> elements;
  for (size_t i = 0; i < node.inputs.size(); ++i) elements.push_back(Input(node, i).elements());
  return PreparedFloating(node.outputs[0].dtype, [elements]<typename T>(const KernelArguments& a) {
    T total = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const T* const x = In<T>(a, i);
      double sum = 0;
      for (int64_t e = 0; e < elements[i]; ++e) sum += static_cast<double>(x[e]) * x[e];
      total += static_cast<T>(sum);
    }
    *Out<T>(a, 0) = total;
  });
}

absl::StatusOr<PreparedKernel> ReferenceClipScale(const LocalNode& node) {
  const double max_norm = node.attributes.Float("max_norm");
  return PreparedFloating(node.outputs[0].dtype, [max_norm]<typename T>(const KernelArguments& a) {
    *Out<T>(a, 0) = ClipScale(*In<T>(a, 0), max_norm);
  });
}

namespace {

template <typename F>
absl::StatusOr<PreparedKernel> Prepare(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const GroupUpdate<F> attributes = UpdateWith<F>(node.attributes);
  const UpdateForm form = UpdateFormOf<F>(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const auto update = UpdateIn<F, T>(attributes, a);
    for (int64_t i = 0; i < elements; ++i) {
      T w = In<T>(a, 0)[i];
      const T g = form.narrow_gradient ? static_cast<T>(In<Bf16>(a, 1)[i]) : In<T>(a, 1)[i];
      std::array<T, kSlotsOf<F>> slots;
      for (size_t s = 0; s < slots.size(); ++s) slots[s] = In<T>(a, 2 + s)[i];
      update(w, g, slots.data());
      Out<T>(a, 0)[i] = w;
      if (form.rounds) Out<Bf16>(a, 1 + slots.size())[i] = Bf16(w);
      for (size_t s = 0; s < slots.size(); ++s) Out<T>(a, 1 + s)[i] = slots[s];
    }
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceUpdate(const LocalNode& node) {
  return WithUpdate(node.op->name, [&]<typename F>() { return Prepare<F>(node); });
}

}  // namespace partita
