#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/batch_norm_tables.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/functors/apply.h"

namespace partita::launch {
namespace {

template <typename T>
struct ShiftedTerm {
  const T* x;
  const Compute<T>* shift;
  int64_t rows, channels;

  struct Column {
    const T* x;
    int64_t channels;
    double shift;
    PARTITA_HOST_DEVICE void operator()(int64_t row, double* sums) const {
      const double d = static_cast<double>(x[row * channels]) - shift;
      sums[0] += d;
      sums[1] += d * d;
    }
  };
  PARTITA_HOST_DEVICE Column At(int64_t group, int64_t c) const {
    return {x + group * rows * channels + c, channels, static_cast<double>(shift[c])};
  }
};

struct StatisticsFinish {
  double* stats;
  int64_t channels;
  PARTITA_HOST_DEVICE void operator()(int64_t group, int64_t c, const Sums<2>& sums) const {
    stats[2 * group * channels + c] = sums.at[0];
    stats[(2 * group + 1) * channels + c] = sums.at[1];
  }
};

template <typename A>
struct NormalizeElementwise {
  const NormalizeCoefficients<A>* table;
  int64_t rows_per_group, channels;
  bool relu;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* x, A* y) const {
    const NormalizeCoefficients<A> k = table[place.row / rows_per_group * channels + place.channel];
    const A value = NormalizeElement(x[0], k.mean, k.scale, k.beta);
    y[0] = relu ? Relu::Value(value) : value;
  }
};

template <typename A>
struct InferenceBody {
  const A *mean, *variance, *gamma, *beta;
  double epsilon;
  NormalizeCoefficients<A>* table;
  PARTITA_HOST_DEVICE void operator()(int64_t c) const {
    table[c] = MakeNormalizeCoefficients<A>(mean[c], variance[c], epsilon, gamma[c], beta[c]);
  }
};

template <typename A>
struct RunningBody {
  RunningLaunch node;
  A *mean, *variance;
  PARTITA_HOST_DEVICE void operator()(int64_t c) const {
    const A shift = static_cast<const A*>(node.mean)[c], momentum = static_cast<A>(node.momentum);
    A new_mean = shift, new_variance = static_cast<const A*>(node.variance)[c];
    const int64_t taken = Applies(node.apply) ? node.groups : 0;
    for (int64_t group = 0; group < taken; ++group) {
      const double* stats = node.stats + 2 * group * node.channels;
      const BatchMoments moments = MakeBatchMoments(stats[c], stats[node.channels + c], node.count);
      new_mean = RunningAverage(new_mean, static_cast<A>(moments.shifted_mean + shift), momentum);
      new_variance =
          RunningAverage(new_variance, static_cast<A>(UnbiasedVariance(moments.variance, node.count)), momentum);
    }
    mean[c] = new_mean;
    variance[c] = new_variance;
  }
};

template <typename T>
LaunchError Normalize(const BatchNormLaunch& node, const void* table, void* y, CudaQueue queue) {
  using A = Compute<T>;
  const NormalizeElementwise<A> element{As<NormalizeCoefficients<A>>(table), node.groups.rows_per_group,
                                        node.groups.channels, node.relu};
  return ForElements<T>({As<T>(node.x)}, {As<T>(y)}, RowsOf(node.groups), element, queue);
}

}  // namespace

int64_t BatchNormTableBytes(DType dtype, int64_t groups, int64_t channels, bool gradient) {
  return groups * channels * (gradient ? 5 : 3) * (dtype == DType::kF64 ? 8 : 4);
}

LaunchError BatchNormStatistics(DType dtype, const BatchNormLaunch& node, double* stats, void* workspace,
                                CudaQueue queue) {
  const ColumnChunks chunks = ChunksOf(node.groups);
  double* const partial = As<double>(workspace);
  return WithFloating(dtype, [&]<typename T>() {
    const ShiftedTerm<T> term{As<T>(node.x), As<Compute<T>>(node.shift), chunks.rows, chunks.channels};
    if (const LaunchError error = SumColumns<2>(chunks, term, partial, queue); error != kLaunched) return error;
    return FinishColumns<2>(chunks, StatisticsFinish{stats, chunks.channels}, partial, queue);
  });
}

LaunchError BatchNormNormalize(DType dtype, const BatchNormLaunch& node, void* y, void* workspace, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    if (const LaunchError error = MakeCoefficients<Compute<T>>(node, workspace, queue); error != kLaunched) {
      return error;
    }
    return Normalize<T>(node, workspace, y, queue);
  });
}

LaunchError BatchNormInference(DType dtype, const BatchNormLaunch& node, const void* running_mean,
                               const void* running_variance, void* y, void* workspace, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const InferenceBody<A> body{As<A>(running_mean), As<A>(running_variance),
                                As<A>(node.gamma),   As<A>(node.beta),
                                node.epsilon,        As<NormalizeCoefficients<A>>(workspace)};
    if (const LaunchError error = ForEach(node.groups.channels, body, queue); error != kLaunched) return error;
    return Normalize<T>(node, workspace, y, queue);
  });
}

LaunchError BatchNormRunning(DType dtype, const RunningLaunch& node, void* mean, void* variance, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(node.channels, RunningBody<A>{node, As<A>(mean), As<A>(variance)}, queue);
  });
}

}  // namespace partita::launch
