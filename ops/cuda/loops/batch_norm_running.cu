#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/apply.h"
#include "ops/functors/batch_norm.h"

namespace partita::launch {
namespace {

template <typename A>
PARTITA_HOST_DEVICE void UpdateRunning(const RunningLaunch& node, int64_t c) {
  const A shift = As<A>(node.mean)[c], momentum = static_cast<A>(node.momentum);
  A new_mean = shift, new_variance = As<A>(node.variance)[c];
  const int64_t taken = Applies(node.apply) ? node.groups : 0;
  for (int64_t group = 0; group < taken; ++group) {
    const double* stats = node.stats + 2 * group * node.channels;
    const BatchMoments moments = MakeBatchMoments(stats[c], stats[node.channels + c], node.count);
    new_mean = RunningAverage(new_mean, static_cast<A>(moments.shifted_mean + shift), momentum);
    new_variance =
        RunningAverage(new_variance, static_cast<A>(UnbiasedVariance(moments.variance, node.count)), momentum);
  }
  As<A>(node.new_mean)[c] = new_mean;
  As<A>(node.new_variance)[c] = new_variance;
}

// What a launch of a few and one of many holds, below the 4096 and 32,764 bytes that arguments may have.
constexpr int kFewNorms = 40, kManyNorms = 350;

template <typename A, int kNorms>
struct RunningBody {
  int count;
  int64_t end[kNorms];  // index behind the last channel, counted over all batch norms of the launch
  RunningLaunch nodes[kNorms];

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    int low = 0, high = count - 1;  // the first that ends behind i
    while (low < high) {
      const int middle = (low + high) / 2;
      if (i < end[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    UpdateRunning<A>(nodes[low], i - (low == 0 ? 0 : end[low - 1]));
  }
};

template <typename A, int kNorms>
LaunchError RunningAll(const RunningLaunch* nodes, int count, CudaQueue queue) {
  using Body = RunningBody<A, kNorms>;
  static_assert(sizeof(Body) <= (kNorms == kFewNorms ? 4000 : 32000));
  Body body{};
  int64_t channels = 0;
  for (int k = 0; k < count; ++k) {
    channels += nodes[k].channels;
    body.nodes[body.count] = nodes[k];
    body.end[body.count++] = channels;
    if (body.count < kNorms && k + 1 < count) continue;
    if (const LaunchError error = ForEach(channels, body, queue); error != kLaunched) return error;
    body.count = 0;
    channels = 0;
  }
  return kLaunched;
}

}  // namespace

LaunchError BatchNormRunning(DType dtype, const RunningLaunch* nodes, int count, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return count <= kFewNorms ? RunningAll<A, kFewNorms>(nodes, count, queue)
                              : RunningAll<A, kManyNorms>(nodes, count, queue);
  });
}

}  // namespace partita::launch
