// The time at which the last rank of a group reaches each collective of a simulated step: until then the others wait,
// from then on bytes move.
#ifndef PARTITA_PARTITIONER_EXPLAIN_ARRIVALS_H_
#define PARTITA_PARTITIONER_EXPLAIN_ARRIVALS_H_

#include <map>
#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/group_table.h"
#include "partitioner/simulate/simulate.h"

namespace partita {

// A launch of a simulated step.
struct LaunchPlace {
  int timeline = 0;  // in SimulatedStep::timelines
  int launch = 0;
  bool operator==(const LaunchPlace&) const = default;
};

// Borrows the step.
class Arrivals {
 public:
  Arrivals(const Program& program, const SimulatedStep& step);

  // The same collective on the rank of its group that comes to it last; of several, itself where it is among them.
  LaunchPlace LastOf(const LaunchPlace& collective) const;

  const LaunchSpan& span(const LaunchPlace& place) const { return step_.timelines[place.timeline].spans[place.launch]; }

 private:
  // Ranks call the collectives of a group in one order: the which-th of one is the which-th of all.
  struct Calls {
    std::map<int, std::vector<int>> by_key;  // launches, by the key of their group (GroupTable)
    std::map<int, size_t> which;             // by launch
  };

  const SimulatedStep& step_;
  const GroupTable groups_;
  std::vector<Calls> calls_;               // by timeline
  std::vector<std::vector<int>> members_;  // by group: the timelines of its ranks, each once
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_ARRIVALS_H_
