// Collectives of a simulated step: the ranks that have arrived, the collectives in progress, and when they end.
//
// A collective starts when the last rank of its group arrives, and ends on all of them at once. Its speed depends on
// how many others share the uplinks of domains on its path. Whenever one of them starts or ends, the remainder
// continues at the new speed:
//
//   two groups over one way out, alone 28 us each, side by side 36; the second comes at 14
//   first    ======-------          half done at 14, 0.5 * 36 us more: ends at 32
//   second         -------======    half done at 32, 0.5 * 28 us more: ends at 46
#ifndef PARTITA_PARTITIONER_SIMULATE_MEETINGS_H_
#define PARTITA_PARTITIONER_SIMULATE_MEETINGS_H_

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/simulate/rank_classes.h"

namespace partita {

// When a group's collective will be over, unless that changes.
struct MeetingEnd {
  double seconds = 0;
  int group = 0;    // in RankClasses::groups
  int version = 0;  // number of this end among the ends computed for the group
};

// Of classes of ranks and of groups. Borrows its arguments.
class Meetings {
 public:
  Meetings(const Cluster& cluster, const RankClasses& classes);

  // A class of ranks has come to a call of its group. It comes to no other before that is over.
  void Come(int rank_class, int group, const CollectiveLaunch& call);
  // When all that happens at `now` has happened: the ends that are new.
  std::vector<MeetingEnd> Update(double now);
  // Whether this end still holds; then the collective is over.
  bool Finish(const MeetingEnd& end);

 private:
  struct Meeting {
    size_t come = 0;    // classes of ranks
    bool goes = false;  // a first end was computed
    double done = 0;    // of it, at `since`
    double since = 0;
    double seconds = 0;        // for all of it at the pace since then
    std::vector<int> sharing;  // by domain that the group leaves: how many leave it
    int version = 0;
  };

  void Share(int group, int sign);
  std::vector<int> SharingOf(int group) const;
  double SecondsOf(int group, const std::vector<int>& sharing);
  double SecondsOfMessages(const GroupClass& group) const;
  const std::vector<GroupLevel>& Levels(int group, const std::vector<int>& sharing);

  const Cluster& cluster_;
  const RankClasses& classes_;
  std::vector<const CollectiveLaunch*> calls_;  // by class of ranks: the last that it has come to
  std::vector<Meeting> meetings_;               // by group
  std::set<int> under_way_;
  Crossings crossings_;  // of those under way
  bool changed_ = false;
  std::map<std::pair<int, std::vector<int>>, std::vector<GroupLevel>> levels_;  // by group and sharing
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_MEETINGS_H_
