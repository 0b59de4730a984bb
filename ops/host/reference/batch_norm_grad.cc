// Reference kernels of the gradients of batch normalization. Inputs begin with (x, dy, stats, shift, gamma, beta);
// stats and dstats are f64.
#include "ops/functors/batch_norm.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// What the gradients of normalize need of one group and channel.
template <typename T>
struct Channel {
  Channel(const KernelArguments& a, const SampleGroups& groups, double epsilon, int64_t g, int64_t c) {
    const double* stats = In<double>(a, 2) + 2 * g * groups.channels;
    moments = MakeBatchMoments(stats[c], stats[groups.channels + c], groups.count);
    k = MakeNormalizeCoefficients<T>(moments.shifted_mean + In<T>(a, 3)[c], moments.variance, epsilon, In<T>(a, 4)[c],
                                     In<T>(a, 5)[c]);
  }

  T Cotangent(const KernelArguments& a, int64_t i, bool relu) const {
    return NormalizedCotangent(In<T>(a, 0)[i], In<T>(a, 1)[i], k.mean, k.scale, k.beta, relu);
  }

  BatchMoments moments;
  NormalizeCoefficients<T> k;
};

// Calls f(g, c) for every group and channel.
template <typename F>
void ForEveryChannel(const SampleGroups& groups, const F& f) {
  for (int64_t g = 0; g < groups.groups; ++g) {
    for (int64_t c = 0; c < groups.channels; ++c) f(g, c);
  }
}

// Calls f(element index) for every element of group g and channel c.
template <typename F>
void ForElements(const SampleGroups& groups, int64_t g, int64_t c, const F& f) {
  for (int64_t r = 0; r < groups.rows_per_group; ++r) f((g * groups.rows_per_group + r) * groups.channels + c);
}

}  // namespace

// -> dstats, dgamma, dbeta
absl::StatusOr<PreparedKernel> ReferenceBatchNormGradientSums(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  return PreparedFloating(Input(node, 0).dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < groups.channels; ++c) {
      double dgamma = 0, dbeta = 0;
      for (int64_t g = 0; g < groups.groups; ++g) {
        const Channel<T> channel(a, groups, epsilon, g, c);
        const double mean = channel.moments.shifted_mean + In<T>(a, 3)[c];
        double sum = 0, product = 0;
        ForElements(groups, g, c, [&](int64_t i) {
          const double dy = channel.Cotangent(a, i, relu);
          sum += dy;
          product += dy * (In<T>(a, 0)[i] - mean);
        });
        const BatchNormGradient d =
            MakeBatchNormGradient(sum, product, channel.moments, groups.count, epsilon, In<T>(a, 4)[c]);
        Out<double>(a, 0)[2 * g * groups.channels + c] = d.ds1;
        Out<double>(a, 0)[(2 * g + 1) * groups.channels + c] = d.ds2;
        dgamma += d.dgamma;
        dbeta += d.dbeta;
      }
      Out<T>(a, 1)[c] = static_cast<T>(dgamma);
      Out<T>(a, 2)[c] = static_cast<T>(dbeta);
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceBatchNormNormalizeInputGrad(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    ForEveryChannel(groups, [&](int64_t g, int64_t c) {
      const Channel<T> channel(a, groups, epsilon, g, c);
      ForElements(groups, g, c, [&](int64_t i) { Out<T>(a, 0)[i] = channel.Cotangent(a, i, relu) * channel.k.scale; });
    });
  });
}

// (x, shift, dstats) -> dx
absl::StatusOr<PreparedKernel> ReferenceBatchNormStatisticsGrad(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    ForEveryChannel(groups, [&](int64_t g, int64_t c) {
      const double* d = In<double>(a, 2) + 2 * g * groups.channels;
      const double shift = In<T>(a, 1)[c];
      ForElements(groups, g, c, [&](int64_t i) {
        Out<T>(a, 0)[i] = static_cast<T>(d[c] + 2 * (In<T>(a, 0)[i] - shift) * d[groups.channels + c]);
      });
    });
  });
}

// (x, dy, stats, shift, gamma, beta, dstats) -> dx, the sum of the two before
absl::StatusOr<PreparedKernel> ReferenceBatchNormInputGrad(const LocalNode& node) {
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    ForEveryChannel(groups, [&](int64_t g, int64_t c) {
      const Channel<T> channel(a, groups, epsilon, g, c);
      const double* d = In<double>(a, 6) + 2 * g * groups.channels;
      const auto s = MakeStatisticsGradCoefficients<T>(channel.k.mean, In<T>(a, 3)[c], d[c], d[groups.channels + c]);
      ForElements(groups, g, c, [&](int64_t i) {
        Out<T>(a, 0)[i] = channel.Cotangent(a, i, relu) * channel.k.scale +
                          StatisticsGradElement(In<T>(a, 0)[i], s.near, s.slope, s.offset);
      });
    });
  });
}

// -> dx, dgamma, dbeta
absl::StatusOr<PreparedKernel> ReferenceBatchNormBackward(const LocalNode& node) {
  LocalNode sums = node, input = node;
  sums.outputs = {*node.inputs[2], node.outputs[1], node.outputs[2]};
  input.inputs.push_back(node.inputs[2]);
  input.outputs = {node.outputs[0]};
  ASSIGN_OR_RETURN(const PreparedKernel first, ReferenceBatchNormGradientSums(sums));
  ASSIGN_OR_RETURN(PreparedKernel both, ReferenceBatchNormInputGrad(input));
  both.workspace_bytes = node.inputs[2]->bytes();
  both.bind = [first, second = both.bind](const KernelArguments& a) -> absl::StatusOr<Computation> {
    KernelArguments of_first = a, of_second = a;
    of_first.outputs[0] = a.workspace;
    of_second.inputs.push_back(a.workspace);
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

// (x, dy, stats, shift, gamma, beta, y) -> dstats, dgamma, dbeta, masked
absl::StatusOr<PreparedKernel> ReferenceBatchNormGradientSumsRelu(const LocalNode& node) {
  return ReferenceBehindRelu(node, 1, ReferenceBatchNormGradientSums);
}

// -> dx, dgamma, dbeta, masked
absl::StatusOr<PreparedKernel> ReferenceBatchNormBackwardRelu(const LocalNode& node) {
  return ReferenceBehindRelu(node, 1, ReferenceBatchNormBackward);
}

}  // namespace partita
