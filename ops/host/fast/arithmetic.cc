// Fast sums, products with a number, and dropout. Outputs may lie at the address of an input.
#include <algorithm>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/dropout_range.h"
#include "ops/host/kernel/global_index.h"
#include "ops/host/kernel/node_dropout.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void AddRange(const float* a, const float* b, float* sum, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}

PARTITA_TARGET_CLONES void ScaleRange(const float* x, float factor, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = factor * x[i];
}

}  // namespace

// Only the first input may lie where the output does, so the partial sums overwrite nothing that is still to be read.
absl::StatusOr<PreparedKernel> FastAdd(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([elements = node.outputs[0].elements()](const KernelArguments& a) {
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      float* sum = Out<float>(a, 0) + begin;
      if (a.inputs.size() == 1 && sum != In<float>(a, 0) + begin) {
        std::copy(In<float>(a, 0) + begin, In<float>(a, 0) + end, sum);
      }
      for (size_t k = 1; k < a.inputs.size(); ++k) {
        AddRange(k == 1 ? In<float>(a, 0) + begin : sum, In<float>(a, k) + begin, sum, end - begin);
      }
    });
  });
}

absl::StatusOr<PreparedKernel> FastScale(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto factor = static_cast<float>(node.attributes.Float("factor"));
  return Prepared([factor, elements = node.outputs[0].elements()](const KernelArguments& a) {
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      ScaleRange(In<float>(a, 0) + begin, factor, Out<float>(a, 0) + begin, end - begin);
    });
  });
}

absl::StatusOr<PreparedKernel> FastDropout(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LocalTensor x = node.outputs[0];
  const int64_t first_sample = node.attributes.Int("first_sample");
  return Prepared([=, dropout = NodeDropout(node, "rate", 1)](const KernelArguments& a) {
    const DropoutStep step = dropout.Of(a);
    const GlobalRows rows(x, first_sample);
    const auto drop = [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / rows.length, at = begin % rows.length;
        const int64_t n = std::min(end - begin, rows.length - at);
        DropoutRange(In<float>(a, 0) + begin, Out<float>(a, 0) + begin, n, rows.Start(row) + static_cast<uint64_t>(at),
                     step);
        begin += n;
      }
    };
    ParallelRange(x.elements(), drop, kCostOfRandom);
  });
}

}  // namespace partita
