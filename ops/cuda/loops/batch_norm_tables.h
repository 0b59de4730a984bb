// What batch normalization needs of a group and channel, made once and read for every element. For .cu files, which are
// compiled without contraction of multiply and add: forward and backward decide about relu by the same bits.
#ifndef PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_TABLES_H_
#define PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_TABLES_H_

#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/batch_norm.h"

namespace partita {

// A: the type of parameters and of arithmetic.
template <typename A>
struct ChannelInputs {
  const double* stats;
  const A *shift, *gamma, *beta;
  int64_t channels;
  double count, epsilon;

  PARTITA_HOST_DEVICE BatchMoments Moments(int64_t group, int64_t c) const {
    const double* own = stats + 2 * group * channels;
    return MakeBatchMoments(own[c], own[channels + c], count);
  }
  PARTITA_HOST_DEVICE NormalizeCoefficients<A> Coefficients(const BatchMoments& moments, int64_t c) const {
    return MakeNormalizeCoefficients<A>(moments.shifted_mean + shift[c], moments.variance, epsilon, gamma[c], beta[c]);
  }
};

template <typename A>
ChannelInputs<A> ChannelInputsOf(const launch::BatchNormLaunch& node) {
  return {node.stats,           As<A>(node.shift), As<A>(node.gamma), As<A>(node.beta),
          node.groups.channels, node.groups.count, node.epsilon};
}

// Of the gradient: what flows through the statistics beside the coefficients; the number near x is the mean.
template <typename A>
struct InputGradCoefficients {
  NormalizeCoefficients<A> k;
  A slope, offset;
};

template <typename A>
struct CoefficientsBody {
  ChannelInputs<A> in;
  NormalizeCoefficients<A>* table;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t c = i % in.channels;
    table[i] = in.Coefficients(in.Moments(i / in.channels, c), c);
  }
};

template <typename A>
LaunchError MakeCoefficients(const launch::BatchNormLaunch& node, void* table, CudaQueue queue) {
  const CoefficientsBody<A> body{ChannelInputsOf<A>(node), As<NormalizeCoefficients<A>>(table)};
  return ForEach(node.groups.groups * node.groups.channels, body, queue);
}

inline ChannelRows RowsOf(const SampleGroups& groups) { return {groups.rows(), groups.channels}; }

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_TABLES_H_
