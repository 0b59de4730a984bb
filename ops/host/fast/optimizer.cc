// Fast updates. Outputs may lie at the address of the input they replace.
#include "ops/functors/sgd.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sgd_arguments.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void SgdRange(const float* w, const float* g, float* out, int64_t n, SgdStep<float> step) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Sgd(w[i], g[i], step);
}

struct MomentumRange {
  const float *w, *g, *m;
  float *out_w, *out_m;
};

PARTITA_TARGET_CLONES void SgdMomentumRange(MomentumRange range, int64_t n, SgdStep<float> step) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    float w = range.w[i], m = range.m[i];
    SgdMomentum(w, m, range.g[i], step);
    range.out_w[i] = w;
    range.out_m[i] = m;
  }
}

constexpr int64_t kPiece = 8192;  // elements that one partial sum of squares covers

PARTITA_TARGET_CLONES double SumOfSquares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      sums[lane] += value * value;
    }
  }
  double total = 0;
  for (; i < n; ++i) total += static_cast<double>(x[i]) * x[i];
  for (int64_t lane = 0; lane < kLanes; ++lane) total += sums[lane];
  return total;
}

}  // namespace

absl::StatusOr<PreparedKernel> FastSumOfSquares(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int64_t elements = Input(node, 0).elements();
  const int64_t pieces = (elements + kPiece - 1) / kPiece;
  const auto compute = [=](const KernelArguments& a) {
    double* partial = Scratch<double>(a);
    ParallelFor(pieces, elements, [&](int64_t i) {
      partial[i] = SumOfSquares(In<float>(a, 0) + i * kPiece, std::min(kPiece, elements - i * kPiece));
    });
    double sum = 0;
    for (int64_t i = 0; i < pieces; ++i) sum += partial[i];
    *Out<float>(a, 0) = static_cast<float>(sum);
  };
  return Prepared(compute, pieces * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> FastSgd(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SgdArguments sgd = PlainSgd(node);
  return Prepared([sgd, elements = node.outputs[0].elements()](const KernelArguments& a) {
    const SgdStep<float> step = sgd.Step<float>(a);
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      SgdRange(In<float>(a, 0) + begin, In<float>(a, 1) + begin, Out<float>(a, 0) + begin, end - begin, step);
    });
  });
}

absl::StatusOr<PreparedKernel> FastSgdMomentum(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SgdArguments sgd = MomentumSgd(node);
  return Prepared([sgd, elements = node.outputs[0].elements()](const KernelArguments& a) {
    const SgdStep<float> step = sgd.Step<float>(a);
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      const MomentumRange range{In<float>(a, 0) + begin, In<float>(a, 1) + begin, In<float>(a, 2) + begin,
                                Out<float>(a, 0) + begin, Out<float>(a, 1) + begin};
      SgdMomentumRange(range, end - begin, step);
    });
  });
}

}  // namespace partita
