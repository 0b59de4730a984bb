#include "partitioner/explain/critical_path.h"

#include <algorithm>
#include <map>
#include <variant>

namespace partita {
namespace {

bool IsCollective(const Launch& launch) { return std::holds_alternative<CollectiveLaunch>(launch.work); }

class PathFinder {
 public:
  PathFinder(const SimulatedStep& step, const Arrivals& arrivals) : step_(step), arrivals_(arrivals) {
    for (const RankTimeline& timeline : step.timelines) {
      std::vector<int>& before = before_on_stream_.emplace_back();
      std::map<int, int> last;  // by stream
      for (size_t l = 0; l < timeline.spans.size(); ++l) {
        const auto [place, first] = last.try_emplace(timeline.spans[l].launch->stream, -1);
        before.push_back(place->second);
        place->second = static_cast<int>(l);
      }
    }
  }

  // From the end to the beginning.
  std::vector<PathStretch> Find() const {
    std::vector<PathStretch> path;
    for (LaunchPlace at = Latest(); at.launch >= 0;) {
      const LaunchPlace last = IsCollective(*arrivals_.span(at).launch) ? arrivals_.LastOf(at) : at;
      const LaunchPlace before = Before(last);
      const LaunchSpan& span = arrivals_.span(at);
      const TimeRange range = RangeOf({span.launch, before.launch < 0 ? 0 : arrivals_.span(before).end, span.end});
      if (range.end_ns > range.begin_ns) path.push_back({span.launch, step_.timelines[at.timeline].rank, range});
      at = before;
    }
    std::ranges::reverse(path);
    return path;
  }

 private:
  // The launch that ends the step.
  LaunchPlace Latest() const {
    LaunchPlace latest{0, -1};
    for (int t = 0; t < static_cast<int>(step_.timelines.size()); ++t) {
      for (int l = 0; l < static_cast<int>(step_.timelines[t].spans.size()); ++l) {
        if (latest.launch < 0 || arrivals_.span({t, l}).end > arrivals_.span(latest).end) latest = {t, l};
      }
    }
    return latest;
  }

  // Of those that a launch waits for the one that ends last: when it begins.
  LaunchPlace Before(const LaunchPlace& at) const {
    LaunchPlace before{at.timeline, before_on_stream_[at.timeline][at.launch]};
    for (const int wait : arrivals_.span(at).launch->waits) {
      const LaunchPlace other{at.timeline, wait};
      if (before.launch < 0 || arrivals_.span(other).end > arrivals_.span(before).end) before = other;
    }
    return before;
  }

  const SimulatedStep& step_;
  const Arrivals& arrivals_;
  std::vector<std::vector<int>> before_on_stream_;  // by timeline, by launch; -1: none
};

}  // namespace

std::vector<PathStretch> CriticalPath(const SimulatedStep& step, const Arrivals& arrivals) {
  return PathFinder(step, arrivals).Find();
}

std::vector<PathShare> SharesOfPath(const std::vector<PathStretch>& path,
                                    const std::function<std::string(const Launch&)>& label) {
  std::map<std::string, PathShare> by_label;
  for (const PathStretch& stretch : path) {
    PathShare& share = by_label[label(*stretch.launch)];
    ++share.stretches;
    share.ns += stretch.ns();
  }
  std::vector<PathShare> shares;
  for (auto& [name, share] : by_label) shares.push_back({name, share.stretches, share.ns});
  std::ranges::stable_sort(shares, std::greater<>(), &PathShare::ns);
  return shares;
}

std::string KindOfWork(const Launch& launch) {
  const auto* const call = std::get_if<CollectiveLaunch>(&launch.work);
  return call == nullptr ? Name(launch.phase) : Name(call->kind);
}

}  // namespace partita
