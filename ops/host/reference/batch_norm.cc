// Reference kernels of batch normalization, forward and running statistics. stats is f64 [groups,2,channels].
#include "ops/functors/batch_norm.h"

#include "ops/functors/apply.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceBatchNormStatistics(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  return PreparedFloating(Input(node, 0).dtype, [groups]<typename T>(const KernelArguments& a) {
    const T *x = In<T>(a, 0), *shift = In<T>(a, 1);
    for (int64_t g = 0; g < groups.groups; ++g) {
      for (int64_t c = 0; c < groups.channels; ++c) {
        double s1 = 0, s2 = 0;
        for (int64_t r = 0; r < groups.rows_per_group; ++r) {
          const double d = static_cast<double>(x[(g * groups.rows_per_group + r) * groups.channels + c]) - shift[c];
          s1 += d;
          s2 += d * d;
        }
        Out<double>(a, 0)[2 * g * groups.channels + c] = s1;
        Out<double>(a, 0)[(2 * g + 1) * groups.channels + c] = s2;
      }
    }
  });
}

// (x, stats, shift, gamma, beta, residual or nothing) -> y
absl::StatusOr<PreparedKernel> ReferenceBatchNormNormalize(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu"), adds = node.inputs.size() > 5;
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < groups.channels; ++c) {
      for (int64_t g = 0; g < groups.groups; ++g) {
        const double* stats = In<double>(a, 1) + 2 * g * groups.channels;
        const BatchMoments moments = MakeBatchMoments(stats[c], stats[groups.channels + c], groups.count);
        const auto k = MakeNormalizeCoefficients<T>(moments.shifted_mean + In<T>(a, 2)[c], moments.variance, epsilon,
                                                    In<T>(a, 3)[c], In<T>(a, 4)[c]);
        for (int64_t r = 0; r < groups.rows_per_group; ++r) {
          const int64_t i = (g * groups.rows_per_group + r) * groups.channels + c;
          const T normalized = NormalizeElement(In<T>(a, 0)[i], k.mean, k.scale, k.beta);
          const T y = adds ? normalized + In<T>(a, 5)[i] : normalized;
          Out<T>(a, 0)[i] = relu ? Relu::Value(y) : y;
        }
      }
    }
  });
}

// (x, shift, gamma, beta, residual or nothing) -> y, stats
absl::StatusOr<PreparedKernel> ReferenceBatchNormForward(const LocalNode& node) {
  LocalNode sums = node, normalize = node;
  sums.inputs = {node.inputs[0], node.inputs[1]};
  sums.outputs = {node.outputs[1]};
  normalize.inputs.insert(normalize.inputs.begin() + 1, node.outputs[1]);
  normalize.outputs = {node.outputs[0]};
  ASSIGN_OR_RETURN(const PreparedKernel first, ReferenceBatchNormStatistics(sums));
  ASSIGN_OR_RETURN(PreparedKernel both, ReferenceBatchNormNormalize(normalize));
  both.bind = [first, second = both.bind](const KernelArguments& a) -> absl::StatusOr<Computation> {
    KernelArguments of_first = a, of_second = a;
    of_first.inputs = {a.inputs[0], a.inputs[1]};
    of_first.outputs = {a.outputs[1]};
    of_second.inputs.insert(of_second.inputs.begin() + 1, a.outputs[1]);
    of_second.outputs = {a.outputs[0]};
    ASSIGN_OR_RETURN(const Computation before, first.bind(of_first));
    ASSIGN_OR_RETURN(const Computation after, second(of_second));
    return Computation([before, after]() -> absl::Status {
      RETURN_IF_ERROR(before());
      return after();
    });
  };
  return both;
}

// (stats, running_mean, running_variance, apply?) -> both, new. The shift of stats is the running mean as read.
absl::StatusOr<PreparedKernel> ReferenceBatchNormRunning(const LocalNode& node) {
  const int64_t groups = InputShape(node, 0)[0], channels = InputShape(node, 0)[2];
  const double momentum = node.attributes.Float("momentum");
  const double count = static_cast<double>(node.attributes.Int("count"));
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const int64_t taken = Applies(In<int32_t>(a, 3)) ? groups : 0;
    for (int64_t c = 0; c < channels; ++c) {
      const T shift = In<T>(a, 1)[c];
      T mean = shift, variance = In<T>(a, 2)[c];
      for (int64_t g = 0; g < taken; ++g) {
        const double* stats = In<double>(a, 0) + 2 * g * channels;
        const BatchMoments moments = MakeBatchMoments(stats[c], stats[channels + c], count);
        mean = RunningAverage(mean, static_cast<T>(moments.shifted_mean + shift), static_cast<T>(momentum));
        variance = RunningAverage(variance, static_cast<T>(UnbiasedVariance(moments.variance, count)),
                                  static_cast<T>(momentum));
      }
      Out<T>(a, 0)[c] = mean;
      Out<T>(a, 1)[c] = variance;
    }
  });
}

// (x, gamma, beta, running_mean, running_variance) -> y
absl::StatusOr<PreparedKernel> ReferenceBatchNormInference(const LocalNode& node) {
  const ChannelRows x = MakeRows(InputShape(node, 0));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < x.channels; ++c) {
      const auto k =
          MakeNormalizeCoefficients<T>(In<T>(a, 3)[c], In<T>(a, 4)[c], epsilon, In<T>(a, 1)[c], In<T>(a, 2)[c]);
      for (int64_t r = 0; r < x.rows; ++r) {
        const T y = NormalizeElement(In<T>(a, 0)[r * x.channels + c], k.mean, k.scale, k.beta);
        Out<T>(a, 0)[r * x.channels + c] = relu ? Relu::Value(y) : y;
      }
    }
  });
}

}  // namespace partita
