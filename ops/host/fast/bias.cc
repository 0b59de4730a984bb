// Fast bias and its gradient, on wide rows.
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/wide_rows.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void AddBias(const float* x, float* y, int64_t elements, int64_t width, const float* bias) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) y[done + i] = x[done + i] + bias[i];
  }
}

// Some rows for one way through the sums, which are long where channels are a vocabulary.
PARTITA_TARGET_CLONES void AddRows(const float* dy, int64_t elements, int64_t width, float* sum) {
  int64_t done = 0;
  for (; done + 4 * width <= elements; done += 4 * width) {
    const float *const row0 = dy + done, *const row1 = row0 + width, *const row2 = row1 + width;
    const float* const row3 = row2 + width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < width; ++i) sum[i] = (((sum[i] + row0[i]) + row1[i]) + row2[i]) + row3[i];
  }
  for (; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) sum[i] += dy[done + i];
  }
}

}  // namespace

absl::StatusOr<PreparedKernel> FastBias(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const WideRows rows(MakeRows(node.outputs[0].shape()));
  const auto compute = [rows](const KernelArguments& a) {
    if (rows.width() == 0) return;
    float* bias = Scratch<float>(a);
    std::copy(In<float>(a, 1), In<float>(a, 1) + rows.channels(), bias);
    rows.Repeat(bias);
    rows.ForChunks([&](int64_t, int64_t begin, int64_t end) {
      AddBias(In<float>(a, 0) + begin, Out<float>(a, 0) + begin, end - begin, rows.width(), bias);
    });
  };
  return Prepared(compute, rows.coefficient_bytes(1));
}

absl::StatusOr<PreparedKernel> FastBiasGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const WideRows rows(MakeRows(InputShape(node, 0)));
  const auto compute = [rows](const KernelArguments& a) {
    rows.Reduce(
        Scratch<void>(a),
        [&](int64_t, int64_t begin, int64_t end, float* sum, float*) {
          AddRows(In<float>(a, 0) + begin, end - begin, rows.width(), sum);
        },
        [&](int64_t, int64_t c, double sum, double) { Out<float>(a, 0)[c] = static_cast<float>(sum); });
  };
  return Prepared(compute, rows.reduction_bytes());
}

}  // namespace partita
