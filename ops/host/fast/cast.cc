// Fast casts between f32 and bf16: of activations where types meet, and of all weights in every step.
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/widened.h"

namespace partita {

absl::StatusOr<PreparedKernel> FastCast(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const DType from = Input(node, 0).dtype, to = node.outputs[0].dtype;
  if (from == DType::kF32 && to == DType::kBF16) {
    return Prepared([elements](const KernelArguments& a) {
      ParallelRange(elements, [&](int64_t begin, int64_t end) {
        RoundRun(In<float>(a, 0) + begin, Out<Bf16>(a, 0) + begin, end - begin);
      });
    });
  }
  if (from == DType::kBF16 && to == DType::kF32) {
    return Prepared([elements](const KernelArguments& a) {
      ParallelRange(elements, [&](int64_t begin, int64_t end) {
        WidenRun(In<Bf16>(a, 0) + begin, Out<float>(a, 0) + begin, end - begin);
      });
    });
  }
  return InvalidArgument("it is from {} to {}, allowed are f32 and bf16", Name(from), Name(to));
}

}  // namespace partita
