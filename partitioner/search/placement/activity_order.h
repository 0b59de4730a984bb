// In which order the ops of a placement run and its transfers travel, where each device and each link does one thing at
// a time: a job shop with any precedence.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_ACTIVITY_ORDER_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_ACTIVITY_ORDER_H_

#include <vector>

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// An op on its device, or a transfer on its link.
struct Activity {
  int op = -1;  // -1: a transfer
  double seconds = 0;
  int resource = 0;
  std::vector<int> before;  // what must have ended
  int edge = -1;            // of a transfer: the first edge of the graph that it serves
};

// Each stands after those before it. Transfers that take no time are omitted.
struct Activities {
  std::vector<Activity> all;
  int resources = 0;
};
Activities ActivitiesOf(const PlacementGraph& graph, const std::vector<int>& device, int devices);

struct ActivityOrder {
  double end = 0;
  std::vector<double> start;  // by op
};

// What is on the longest way to the end goes first.
ActivityOrder ListOrder(const Activities& activities);

// As `begins` says, by activity, each as early as what goes before it allows; of equals the shorter one first.
ActivityOrder InOrder(const Activities& activities, const std::vector<double>& begins);

// The best order, if it ends before `than`; an empty `start`: there is none. Looks at up to `nodes` partial orders and
// takes what it looked at off; when these run out, what it found so far.
ActivityOrder BestOrder(const Activities& activities, double than, double& nodes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_ACTIVITY_ORDER_H_
