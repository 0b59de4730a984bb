#include "partitioner/cost/group_cost.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace partita {
namespace {

constexpr CollectiveForm kForms[] = {CollectiveForm::kRing, CollectiveForm::kTree, CollectiveForm::kRecursive};

// What stands in one domain of a group: domains by id and devices, which are numbered behind these.
using Members = std::set<int>;

class GroupTree {
 public:
  GroupTree(const Cluster& cluster, const std::vector<int>& group, const Crossings& crossings)
      : cluster_(cluster), crossings_(crossings) {
    for (int device : group) AddDevice(device);
  }

  std::vector<GroupLevel> Levels() const {
    std::vector<GroupLevel> levels;
    for (auto depth = by_depth_.rbegin(); depth != by_depth_.rend(); ++depth) {
      GroupLevel level{1, {Fabric::kMemory, std::numeric_limits<double>::infinity(), 0, 1}};
      for (int domain : depth->second) Widen(domain, level);
      if (level.members > 1) levels.push_back(level);
    }
    return levels;
  }

 private:
  void AddDevice(int device) {
    const std::vector<int> path = DomainsOf(cluster_, device);
    for (size_t depth = 0; depth < path.size(); ++depth) {
      by_depth_[depth].insert(path[depth]);
      const bool last = depth + 1 == path.size();
      members_[path[depth]].insert(last ? static_cast<int>(cluster_.domains.size()) + device : path[depth + 1]);
      ++devices_[path[depth]];
    }
  }

  void Widen(int domain, GroupLevel& level) const {
    const Members& members = members_.at(domain);
    if (members.size() < 2) return;
    level.members = std::max(level.members, static_cast<int>(members.size()));
    const Link& within = cluster_.domains[domain].within;
    double latency = within.latency_seconds;
    Slow(within, within.bytes_per_second, level);
    double leaving = 0;
    for (int member : members) {
      if (member < static_cast<int>(cluster_.domains.size())) leaving = std::max(leaving, Leave(member, level));
    }
    level.link.latency_seconds = std::max(level.link.latency_seconds, latency + 2 * leaving);
  }

  // The way of a message from a device of the group to the outside of `domain`; its latency.
  double Leave(int domain, GroupLevel& level) const {
    const Domain& left = cluster_.domains[domain];
    const int sharing = std::max(crossings_[domain], 1);
    Slow(left.up, left.up.bytes_per_second / sharing, level);
    const Members& members = members_.at(domain);
    const int first = *members.begin();
    if (first >= static_cast<int>(cluster_.domains.size())) {
      if (left.within.bytes_per_second > 0) {
        Slow(left.within, left.within.bytes_per_second * devices_.at(domain), level);
      }
      return left.up.latency_seconds;
    }
    return left.up.latency_seconds + Leave(first, level);
  }

  static void Slow(const Link& link, double bytes_per_second, GroupLevel& level) {
    if (bytes_per_second >= level.link.bytes_per_second) return;
    level.link.fabric = link.fabric;
    level.link.bytes_per_second = bytes_per_second;
    level.link.channels = link.channels;
  }

  const Cluster& cluster_;
  const Crossings& crossings_;
  std::map<int, int> devices_;  // by domain
  std::map<int, Members> members_;
  std::map<size_t, std::set<int>> by_depth_;
};

int RanksOf(const std::vector<GroupLevel>& levels) {
  int ranks = 1;
  for (const GroupLevel& level : levels) ranks *= level.members;
  return ranks;
}

AlphaBeta CostOf(const Link& link) { return {link.latency_seconds, 1 / link.bytes_per_second}; }

// Through all ranks, at the slowest link's pace.
double FlatSeconds(CollectiveKind collective, CollectiveForm form, double bytes,
                   const std::vector<GroupLevel>& levels) {
  AlphaBeta slowest;
  for (const GroupLevel& level : levels) {
    slowest.alpha = std::max(slowest.alpha, CostOf(level.link).alpha);
    slowest.beta = std::max(slowest.beta, CostOf(level.link).beta);
  }
  return CollectiveSeconds(collective, form, bytes, RanksOf(levels), slowest);
}

// The ranks of a domain each move their part over the way out that they share, so that it sees all bytes once.
double NestedSeconds(CollectiveKind collective, CollectiveForm form, double bytes,
                     const std::vector<GroupLevel>& levels) {
  double seconds = 0;
  for (const GroupLevel& level : levels) {
    seconds += CollectiveSeconds(collective, form, bytes, level.members, CostOf(level.link));
    if (collective == CollectiveKind::kAllToAll) bytes *= level.members;  // nothing is summed or had twice
  }
  return seconds;
}

GpuGeneration GenerationOf(const DeviceKind& kind) {
  if (kind.compute_capability >= 100) return GpuGeneration::kBlackwell;
  if (kind.compute_capability >= 90) return GpuGeneration::kHopper;
  return kind.compute_capability >= 80 ? GpuGeneration::kAmpere : GpuGeneration::kVolta;
}

}  // namespace

std::vector<int> DomainsLeftBy(const Cluster& cluster, const std::vector<int>& group) {
  std::map<int, size_t> inside;
  for (int device : group) {
    for (int d = cluster.devices[device].domain; d >= 0; d = cluster.domains[d].parent) ++inside[d];
  }
  std::vector<int> left;
  for (const auto& [domain, devices] : inside) {
    if (devices < group.size()) left.push_back(domain);
  }
  return left;
}

Crossings CrossingsOf(const Cluster& cluster, const std::vector<std::vector<int>>& groups) {
  Crossings crossings(cluster.domains.size(), 0);
  for (const std::vector<int>& group : groups) {
    for (const int domain : DomainsLeftBy(cluster, group)) ++crossings[domain];
  }
  return crossings;
}

std::vector<GroupLevel> LevelsOf(const Cluster& cluster, const std::vector<int>& group, const Crossings& crossings) {
  return GroupTree(cluster, group, crossings).Levels();
}

std::vector<GroupLevel> LevelsOf(const Cluster& cluster, const std::vector<std::vector<int>>& groups, size_t which) {
  return LevelsOf(cluster, groups[which], CrossingsOf(cluster, groups));
}

double LevelSeconds(CollectiveKind collective, CollectiveForm form, double bytes,
                    const std::vector<GroupLevel>& levels) {
  return std::min(FlatSeconds(collective, form, bytes, levels), NestedSeconds(collective, form, bytes, levels));
}

NcclTopology NcclTopologyOf(const std::vector<GroupLevel>& levels, const DeviceKind& kind) {
  NcclTopology topology;
  topology.ranks = RanksOf(levels);
  topology.nodes = 1;
  topology.generation = GenerationOf(kind);
  double within = std::numeric_limits<double>::infinity(), between = within;
  for (const GroupLevel& level : levels) {
    const bool network = level.link.fabric == Fabric::kNetwork;
    double& speed = network ? between : within;
    speed = std::min(speed, level.link.bytes_per_second);
    if (network) topology.nodes *= level.members;
    if (!network && level.link.fabric != Fabric::kNvlink) topology.nvlink = false;
    topology.channels = std::max(topology.channels, level.link.channels);
  }
  // A ring goes through all links; NCCL takes the ways within for one or two nodes, which then are no faster.
  topology.within_bandwidth = std::min(within, between) / topology.channels;
  topology.between_bandwidth = topology.within_bandwidth;
  return topology;
}

double GroupSeconds(const DeviceKind& kind, CollectiveKind collective, double bytes,
                    const std::vector<GroupLevel>& levels) {
  if (levels.empty()) return 0;
  const bool of_nccl = collective == CollectiveKind::kAllReduce || collective == CollectiveKind::kAllGather ||
                       collective == CollectiveKind::kReduceScatter;
  if (kind.backend == BackendKind::kCuda && of_nccl) {
    return CheapestNccl(collective, static_cast<int64_t>(bytes), NcclTopologyOf(levels, kind)).seconds;
  }
  double best = std::numeric_limits<double>::infinity();
  for (CollectiveForm form : kForms) best = std::min(best, LevelSeconds(collective, form, bytes, levels));
  return best;
}

double GroupSeconds(const Cluster& cluster, CollectiveKind collective, double bytes,
                    const std::vector<std::vector<int>>& groups, size_t which) {
  return GroupSeconds(cluster.KindOf(groups[which][0]), collective, bytes, LevelsOf(cluster, groups, which));
}

}  // namespace partita
