#include "ops/cuda/launch/batch_norm_running.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/member_table.h"
#include "ops/functors/apply.h"
#include "ops/functors/batch_norm.h"

namespace partita::launch {
namespace {

template <typename A>
PARTITA_HOST_DEVICE void UpdateChannel(const RunningStatistics& node, bool apply, int64_t c) {
  const A shift = As<A>(node.mean)[c], momentum = static_cast<A>(node.momentum);
  A mean = shift, variance = As<A>(node.variance)[c];
  const int64_t taken = apply ? node.groups : 0;
  for (int64_t group = 0; group < taken; ++group) {
    const double* stats = node.stats + 2 * group * node.channels;
    const BatchMoments moments = MakeBatchMoments(stats[c], stats[node.channels + c], node.count);
    mean = RunningAverage(mean, static_cast<A>(moments.shifted_mean + shift), momentum);
    variance = RunningAverage(variance, static_cast<A>(UnbiasedVariance(moments.variance, node.count)), momentum);
  }
  As<A>(node.new_mean)[c] = mean;
  As<A>(node.new_variance)[c] = variance;
}

template <typename A, int kMembers>
struct RunningBody {
  const int32_t* apply;
  MemberTable<RunningStatistics, kMembers> table;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const auto [member, channel] = table.PlaceOf(i);
    UpdateChannel<A>(table.members[member], Applies(apply), channel);
  }
};

template <typename A, int kMembers>
LaunchError Running(const RunningStatistics* nodes, int count, const int32_t* apply, CudaQueue queue) {
  using Body = RunningBody<A, kMembers>;
  static_assert(kFitsArguments<Body, RunningStatistics, kMembers>);
  return ForTables<kMembers>(
      nodes, count, [](const RunningStatistics& node) { return node.channels; },
      [&](const MemberTable<RunningStatistics, kMembers>& table) {
        return ForEach(table.indices(), Body{apply, table}, queue);
      });
}

}  // namespace

LaunchError BatchNormRunning(DType dtype, const RunningStatistics* nodes, int count, const int32_t* apply,
                             CudaQueue queue) {
  constexpr int kFew = kFewMembers<RunningStatistics>, kMany = kManyMembers<RunningStatistics>;
  return WithWide(dtype, [&]<typename A>() {
    return count <= kFew ? Running<A, kFew>(nodes, count, apply, queue) : Running<A, kMany>(nodes, count, apply, queue);
  });
}

}  // namespace partita::launch
