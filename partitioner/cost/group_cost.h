// Estimates the time of a collective within a group of a cluster's devices (docs/papers.md 13.3).
#ifndef PARTITA_PARTITIONER_COST_GROUP_COST_H_
#define PARTITA_PARTITIONER_COST_GROUP_COST_H_

#include <vector>

#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/collective_cost.h"
#include "partitioner/cost/nccl_cost.h"

namespace partita {

// The members of a group on one level of the domains: devices of a socket, nodes of a rack.
struct GroupLevel {
  int members = 1;  // 2 or more
  Link link;        // of each member to the others
};

// The domains that a group leaves: it has members in them and others outside. Ascending.
std::vector<int> DomainsLeftBy(const Cluster& cluster, const std::vector<int>& group);

// By domain, how many groups leave it.
using Crossings = std::vector<int>;
Crossings CrossingsOf(const Cluster& cluster, const std::vector<std::vector<int>>& groups);

// The innermost level first; none for a group of one. Of an uneven group each level is that of its fullest domain.
//
// `crossings`: of all groups that communicate at that time, this one included. All that leave a domain share its way
// up; and a domain is no faster outwards than its members together.
std::vector<GroupLevel> LevelsOf(const Cluster& cluster, const std::vector<int>& group, const Crossings& crossings);

// The same of one of `groups`, which communicate at the same time.
std::vector<GroupLevel> LevelsOf(const Cluster& cluster, const std::vector<std::vector<int>>& groups, size_t which);

// The quicker of two: one ring (tree, ...) through all ranks as fast as its slowest link, and level by level: an
// all_reduce is a reduce_scatter within, an all_reduce of the parts among those with equal places, an all_gather
// within.
double LevelSeconds(CollectiveKind collective, CollectiveForm form, double bytes,
                    const std::vector<GroupLevel>& levels);

// What NCCL finds there: nodes are what a network links.
NcclTopology NcclTopologyOf(const std::vector<GroupLevel>& levels, const DeviceKind& kind);

// By NCCL's model on GPUs for what it has, else the quickest of the textbooks' forms. `kind`: of the group's devices.
double GroupSeconds(const DeviceKind& kind, CollectiveKind collective, double bytes,
                    const std::vector<GroupLevel>& levels);

// The same of one of `groups`, which communicate at the same time.
double GroupSeconds(const Cluster& cluster, CollectiveKind collective, double bytes,
                    const std::vector<std::vector<int>>& groups, size_t which);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_GROUP_COST_H_
