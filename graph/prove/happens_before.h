// Decides whether one launch surely ends before another starts, from streams and waits alone, over two consecutive
// steps.
#ifndef PARTITA_GRAPH_PROVE_HAPPENS_BEFORE_H_
#define PARTITA_GRAPH_PROVE_HAPPENS_BEFORE_H_

#include <algorithm>
#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

// Launch l of the second step is number l + launches. A vector clock per launch: of each stream, how many launches have
// ended when it ends. Waits must be for earlier launches.
class HappensBefore {
 public:
  explicit HappensBefore(const Schedule& schedule) : streams_(schedule.streams + 1) {
    const int launches = static_cast<int>(schedule.launches.size());
    clocks_.assign(static_cast<size_t>(2) * launches * streams_, 0);
    own_.resize(2 * launches);
    std::vector<int> previous(streams_, -1);
    for (int l = 0; l < 2 * launches; ++l) {
      const Launch& launch = schedule.launches[l % launches];
      const int step = l - l % launches;
      if (previous[launch.stream] >= 0) Join(l, previous[launch.stream]);
      for (int wait : launch.waits) Join(l, step + wait);
      own_[l] = {launch.stream, ++Clock(l)[launch.stream]};
      previous[launch.stream] = l;
    }
  }

  int stream(int launch) const { return own_[launch].stream; }

  // `before` != `after`.
  bool Holds(int before, int after) const {
    return clocks_[static_cast<size_t>(after) * streams_ + own_[before].stream] >= own_[before].count;
  }

 private:
  struct Position {
    int stream = 0;
    int count = 0;
  };

  int* Clock(int launch) { return clocks_.data() + static_cast<size_t>(launch) * streams_; }
  void Join(int launch, int earlier) {
    for (int s = 0; s < streams_; ++s) Clock(launch)[s] = std::max(Clock(launch)[s], Clock(earlier)[s]);
  }

  int streams_;
  std::vector<int> clocks_;
  std::vector<Position> own_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_HAPPENS_BEFORE_H_
