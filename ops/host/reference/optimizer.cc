// Reference kernels of the updates. Outputs may lie at the address of the input they replace.
#include "ops/functors/sgd.h"
#include "ops/host/kernel/sgd_arguments.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/learning_rate.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceLearningRate(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype,
                          [schedule = ScheduleOf(node.attributes)]<typename T>(const KernelArguments& a) {
                            *Out<T>(a, 0) = static_cast<T>(schedule.Rate(*In<int32_t>(a, 0)));
                          });
}

absl::StatusOr<PreparedKernel> ReferenceIncrement(const LocalNode&) {
  return Prepared([](const KernelArguments& a) { *Out<int32_t>(a, 0) = *In<int32_t>(a, 0) + 1; });
}

absl::StatusOr<PreparedKernel> ReferenceSumOfSquares(const LocalNode& node) {
  const int64_t elements = Input(node, 0).elements();
  return PreparedFloating(node.outputs[0].dtype, [elements]<typename T>(const KernelArguments& a) {
    double sum = 0;
    for (int64_t i = 0; i < elements; ++i) sum += static_cast<double>(In<T>(a, 0)[i]) * In<T>(a, 0)[i];
    *Out<T>(a, 0) = static_cast<T>(sum);
  });
}

absl::StatusOr<PreparedKernel> ReferenceClipScale(const LocalNode& node) {
  const double max_norm = node.attributes.Float("max_norm");
  return PreparedFloating(node.outputs[0].dtype, [max_norm]<typename T>(const KernelArguments& a) {
    *Out<T>(a, 0) = ClipScale(*In<T>(a, 0), max_norm);
  });
}

absl::StatusOr<PreparedKernel> ReferenceSgd(const LocalNode& node) {
  const SgdArguments sgd = PlainSgd(node);
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const SgdStep<T> step = sgd.Step<T>(a);
    for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = Sgd(In<T>(a, 0)[i], In<T>(a, 1)[i], step);
  });
}

absl::StatusOr<PreparedKernel> ReferenceSgdMomentum(const LocalNode& node) {
  const SgdArguments sgd = MomentumSgd(node);
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const SgdStep<T> step = sgd.Step<T>(a);
    for (int64_t i = 0; i < elements; ++i) {
      T w = In<T>(a, 0)[i], m = In<T>(a, 2)[i];
      SgdMomentum(w, m, In<T>(a, 1)[i], step);
      Out<T>(a, 0)[i] = w;
      Out<T>(a, 1)[i] = m;
    }
  });
}

}  // namespace partita
