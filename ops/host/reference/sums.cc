// Reference kernels of sums over dimensions, of what is the same along dimensions, and of the mean squared error.
#include "ops/functors/squared_error.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/sum_geometry.h"
#include "runtime/base/bf16.h"

namespace partita {
namespace {

// f.operator()<From, To>() with the C++ types of two floats.
template <typename From, typename F>
absl::StatusOr<PreparedKernel> WithResult(DType to, const F& f) {
  if (to == DType::kF32) return f.template operator()<From, float>();
  if (to == DType::kF64) return f.template operator()<From, double>();
  if (to == DType::kBF16) return f.template operator()<From, Bf16>();
  return InvalidArgument("dtype is {}, allowed are f32, f64 and bf16", Name(to));
}

template <typename F>
absl::StatusOr<PreparedKernel> WithFloats(DType from, DType to, const F& f) {
  if (from == DType::kF32) return WithResult<float>(to, f);
  if (from == DType::kF64) return WithResult<double>(to, f);
  if (from == DType::kBF16) return WithResult<Bf16>(to, f);
  return InvalidArgument("dtype is {}, allowed are f32, f64 and bf16", Name(from));
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceSum(const LocalNode& node) {
  const SummedRuns runs = SummedRunsOf(node);
  const double divisor = DivisorOfSum(node);
  return WithFloats(Input(node, 0).dtype, node.outputs[0].dtype, [&]<typename From, typename To>() {
    return Prepared([=](const KernelArguments& a) {
      for (int64_t i = 0; i < runs.sums; ++i) {
        const From* const first = In<From>(a, 0) + runs.First(i);
        double sum = 0;
        for (int64_t k = 0; k < runs.terms; ++k) sum += static_cast<double>(first[runs.Step(k)]);
        Out<To>(a, 0)[i] = static_cast<To>(sum / divisor);
      }
    });
  });
}

// From the last input: the one before it only says how the result shall lie.
absl::StatusOr<PreparedKernel> ReferenceExpand(const LocalNode& node) {
  const SummedRuns runs = ExpandedRunsOf(node);
  const double divisor = DivisorOfExpansion(node);
  const size_t from = node.inputs.size() - 1;
  return WithFloats(Input(node, from).dtype, node.outputs[0].dtype, [&]<typename From, typename To>() {
    return Prepared([=](const KernelArguments& a) {
      for (int64_t i = 0; i < runs.elements(); ++i) {
        const auto value = static_cast<Compute<From>>(In<From>(a, from)[runs.SumOf(i)]);
        Out<To>(a, 0)[i] = static_cast<To>(value / static_cast<Compute<From>>(divisor));
      }
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceMeanSquaredError(const LocalNode& node) {
  const ErrorRows rows = ErrorRowsOf(node);
  return PreparedFloating(node.outputs[0].dtype, [rows]<typename T>(const KernelArguments& a) {
    const T* const weights = In<T>(a, 2);
    double sum = 0;
    for (int64_t i = 0; i < rows.elements(); ++i) {
      const T weight = weights == nullptr ? T(1) : weights[i / rows.numbers];
      sum += SquaredError(In<T>(a, 0)[i], In<T>(a, 1)[i], weight);
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.divisor);
  });
}

absl::StatusOr<PreparedKernel> ReferenceMeanSquaredErrorGrad(const LocalNode& node) {
  const ErrorRows rows = ErrorRowsOf(node);
  return PreparedFloating(node.outputs[0].dtype, [rows]<typename T>(const KernelArguments& a) {
    const T *const weights = In<T>(a, 2), *const dloss = In<T>(a, 3);
    for (int64_t i = 0; i < rows.elements(); ++i) {
      const T weight = weights == nullptr ? T(1) : weights[i / rows.numbers];
      const T factor = SquaredErrorFactor(dloss == nullptr ? T(1) : *dloss, weight, rows.divisor);
      Out<T>(a, 0)[i] = factor * (In<T>(a, 0)[i] - In<T>(a, 1)[i]);
    }
  });
}

}  // namespace partita
