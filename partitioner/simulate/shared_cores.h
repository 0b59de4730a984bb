// Ranks of a simulated step that compute on the same cores: how fast each is, and when its launches will be over.
//
// The time of a launch assumes that all ranks on its cores compute. While some wait, the others are faster by the
// measured factor (DeviceKind::slowdown). Whenever a rank starts or stops computing, the remainder of all others
// continues at the new speed:
//
//   two ranks, each twice as slow beside the other; launches that take 4 and 8 there
//   rank 0   ====
//   rank 1   ======      half done at 4, 0.5 * 4 more alone: ends at 6
#ifndef PARTITA_PARTITIONER_SIMULATE_SHARED_CORES_H_
#define PARTITA_PARTITIONER_SIMULATE_SHARED_CORES_H_

#include <utility>
#include <vector>

#include "partitioner/cluster/cluster.h"
#include "partitioner/simulate/rank_classes.h"

namespace partita {

// When a launch will be over, unless that changes.
struct WorkEnd {
  double seconds = 0;
  int rank_class = 0;
  int launch = 0;
  int version = 0;  // number of this end among the ends computed for the launch
};

// Of classes of ranks. Borrows its arguments.
class SharedCores {
 public:
  SharedCores(const Cluster& cluster, const RankClasses& classes);

  // Whether other ranks change the computing time of a class.
  bool Has(int rank_class) const { return !peers_[rank_class].empty(); }

  // A class that it has begins a launch, which takes so long while all compute.
  void Begin(int rank_class, int launch, double seconds);
  // When all that happens at `now` has happened: the ends that are new.
  std::vector<WorkEnd> Update(double now);
  // Whether this end still holds; then the launch is over.
  bool Finish(const WorkEnd& end);

 private:
  struct Work {
    int launch = 0;
    double beside_all = 0;  // seconds
    bool goes = false;      // a first end was computed
    double done = 0;        // of it, at `since`
    double since = 0;
    double seconds = 0;  // for all of it at the pace since then
    int version = 0;
  };

  double PaceOf(int rank_class) const;

  const Cluster& cluster_;
  const RankClasses& classes_;
  std::vector<std::vector<std::pair<int, int>>> peers_;  // by class: classes on its cores, and how many ranks of each
  std::vector<std::vector<Work>> under_way_;             // by class
  bool changed_ = false;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_SHARED_CORES_H_
