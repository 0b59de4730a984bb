#include "partitioner/explain/step_shares.h"

#include <algorithm>
#include <map>
#include <variant>

#include "graph/timeline/busy_time.h"

namespace partita {
namespace {

BusyTime ComputingOf(const RankTimeline& timeline) {
  std::vector<TimeRange> kernels;
  for (const LaunchSpan& span : timeline.spans) {
    if (std::holds_alternative<HostLaunch>(span.launch->work)) continue;
    if (!std::holds_alternative<CollectiveLaunch>(span.launch->work)) kernels.push_back(RangeOf(span));
  }
  return BusyTime(std::move(kernels));
}

class Sharing {
 public:
  Sharing(const SimulatedStep& step, const Arrivals& arrivals) : step_(step), arrivals_(arrivals) {}

  TimeOfStep Run() {
    time_.step_ns = RangeOf({nullptr, 0, step_.seconds()}).end_ns;
    time_.classes.resize(step_.timelines.size());
    for (size_t rank = 0; rank < step_.of_rank.size(); ++rank) {
      time_.classes[step_.of_rank[rank]].ranks.push_back(static_cast<int>(rank));
    }
    for (size_t t = 0; t < step_.timelines.size(); ++t) Add(static_cast<int>(t), time_.classes[t]);
    for (const auto& [name, collective] : collectives_) time_.collectives.push_back(collective);
    std::ranges::stable_sort(time_.collectives, std::greater<>(), &CollectiveShares::exposed_ns);
    return std::move(time_);
  }

 private:
  void Add(int timeline, ClassShares& of) {
    const auto ranks = static_cast<int64_t>(of.ranks.size());
    const BusyTime computing = ComputingOf(step_.timelines[timeline]);
    StepShares& shares = of.shares;
    shares.compute_ns = computing.total_ns();
    for (int l = 0; l < static_cast<int>(step_.timelines[timeline].spans.size()); ++l) {
      const Launch& launch = *arrivals_.span({timeline, l}).launch;
      if (std::holds_alternative<CollectiveLaunch>(launch.work)) AddCollective({timeline, l}, computing, ranks, shares);
    }
    shares.idle_ns = time_.step_ns - shares.sum_ns();
    time_.all.compute_ns += ranks * shares.compute_ns;
    time_.all.transfer_ns += ranks * shares.transfer_ns;
    time_.all.waiting_ns += ranks * shares.waiting_ns;
    time_.all.idle_ns += ranks * shares.idle_ns;
  }

  // A rank's collectives follow each other: no moment is of two of them.
  void AddCollective(const LaunchPlace& place, const BusyTime& computing, int64_t ranks, StepShares& shares) {
    const LaunchSpan& span = arrivals_.span(place);
    const TimeRange whole = RangeOf(span);
    const int64_t last = RangeOf(arrivals_.span(arrivals_.LastOf(place))).begin_ns;
    const auto exposed = [&](const TimeRange& range) {
      return range.end_ns - range.begin_ns - computing.Within(range);
    };
    const int64_t waiting = exposed({whole.begin_ns, last}), transfer = exposed({last, whole.end_ns});
    shares.waiting_ns += waiting;
    shares.transfer_ns += transfer;
    CollectiveShares& sum = collectives_[span.launch->name];
    sum.name = span.launch->name;
    sum.node = span.launch->node;
    sum.waiting_ns += ranks * waiting;
    sum.transfer_ns += ranks * transfer;
  }

  const SimulatedStep& step_;
  const Arrivals& arrivals_;
  std::map<std::string, CollectiveShares> collectives_;
  TimeOfStep time_;
};

}  // namespace

TimeOfStep SharesOf(const SimulatedStep& step, const Arrivals& arrivals) { return Sharing(step, arrivals).Run(); }

}  // namespace partita
