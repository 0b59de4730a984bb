#include "graph/plan/waits.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "graph/schedule/byte_history.h"

namespace partita {
namespace {

bool IsCollective(const Launch& launch) { return std::holds_alternative<CollectiveLaunch>(launch.work); }

// What is known to have ended when a launch starts or ends: per stream, how many of its launches.
class Clocks {
 public:
  Clocks(size_t launches, int streams) : streams_(streams), counts_(launches * streams, 0) {}

  int* of(int launch) { return counts_.data() + static_cast<size_t>(launch) * streams_; }
  void Join(int launch, int earlier) {
    int* own = of(launch);
    const int* other = of(earlier);
    for (int s = 0; s < streams_; ++s) own[s] = std::max(own[s], other[s]);
  }

 private:
  int streams_;
  std::vector<int> counts_;
};

}  // namespace

void DeclareOrder(Schedule& schedule) {
  schedule.order.clear();
  const int end = static_cast<int>(schedule.launches.size()) - 1;
  std::vector<int> last(schedule.streams, -1);
  int collective = -1;
  for (int l = 1; l < end; ++l) {
    const int stream = schedule.launches[l].stream;
    if (last[stream] < 0) schedule.order.push_back({0, l});
    last[stream] = l;
    if (!IsCollective(schedule.launches[l])) continue;
    if (collective >= 0) schedule.order.push_back({collective, l});
    collective = l;
  }
  for (int l : last) {
    if (l >= 0) schedule.order.push_back({l, end});
  }
}

void AssignWaits(Schedule& schedule) {
  const int streams = schedule.streams + 1;
  const int launches = static_cast<int>(schedule.launches.size());
  std::vector<OrderEdge> declared = schedule.order;
  std::stable_sort(declared.begin(), declared.end(),
                   [](const OrderEdge& a, const OrderEdge& b) { return a.after < b.after; });
  auto edge = declared.begin();
  ByteHistory history(streams);
  Clocks clocks(launches, streams);
  std::vector<int> position(launches), previous(streams, -1);
  std::vector<int> needed;
  for (int l = 0; l < launches; ++l) {
    Launch& launch = schedule.launches[l];
    needed.clear();
    for (; edge != declared.end() && edge->after == l; ++edge) needed.push_back(edge->before);
    for (const Access& access : launch.accesses) {
      history.Touch(access, l, launch.stream, [&](int earlier) {
        if (earlier != l) needed.push_back(earlier);
      });
    }
    if (previous[launch.stream] >= 0) clocks.Join(l, previous[launch.stream]);
    // The latest first: whatever follows from a wait was launched before it, so it is met after it and left out.
    std::sort(needed.begin(), needed.end(), std::greater<>());
    launch.waits.clear();
    for (int earlier : needed) {
      if (clocks.of(l)[schedule.launches[earlier].stream] >= position[earlier]) continue;
      launch.waits.push_back(earlier);
      clocks.Join(l, earlier);
    }
    std::reverse(launch.waits.begin(), launch.waits.end());
    position[l] = clocks.of(l)[launch.stream] + 1;
    clocks.of(l)[launch.stream] = position[l];
    previous[launch.stream] = l;
  }
}

}  // namespace partita
