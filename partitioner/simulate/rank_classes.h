// Ranks that do the same at the same times: of a class one is simulated.
//
//   data:4 on two nodes of two devices, one all_reduce over all         one class {0,1,2,3}
//   data:3 on them: {0,1} share a node, 2 has one for itself            one class all the same: all are in one group
//   data:2 model:2, model rank 0 does more                              {0,2}, {1,3}
//
// Ranks, groups and domains get colours, and colours are refined until nothing changes: ranks are alike that do the
// same work in groups that are alike; groups whose members are alike, place by place, and lie alike over domains that
// are alike; domains with equal links that are left by as many groups of each colour and, where ranks slow each other
// down (DeviceKind::slowdown), have as many ranks of each; there alike ranks lie in alike domains. So from alike
// beginnings alike ranks start each collective together, it finds the same way, with as many others on it, and ends on
// all of them together; and as many others compute beside each of them.
#ifndef PARTITA_PARTITIONER_SIMULATE_RANK_CLASSES_H_
#define PARTITA_PARTITIONER_SIMULATE_RANK_CLASSES_H_

#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/group_table.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/group_cost.h"

namespace partita {

// Groups that are alike.
struct GroupClass {
  std::vector<int> ranks;    // of the first of them
  std::vector<int> classes;  // of these ranks, each once
  Crossings crossings;       // of all of them together
  std::vector<int> left;     // domains that the first of them leaves
};

struct RankClasses {
  std::vector<int> of_rank;  // by rank
  std::vector<int> first;    // by class: the first rank in it
  std::vector<GroupClass> groups;
  std::vector<std::vector<int>> group_of;  // by class and key (GroupTable): its place in `groups`; -1: none
};

// `work`: by rank, equal where ranks do the same work on the same kind of device. The cluster has a device for each.
RankClasses ClassesOf(const Program& program, const GroupTable& groups, const Cluster& cluster,
                      const std::vector<int>& work);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_RANK_CLASSES_H_
