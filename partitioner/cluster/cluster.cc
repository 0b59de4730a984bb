#include "partitioner/cluster/cluster.h"

#include <algorithm>
#include <limits>

#include "graph/value/node_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

void Pass(const Link& link, int sharing, Link& route) {
  const double speed = link.bytes_per_second / sharing;
  route.latency_seconds += link.latency_seconds;
  if (speed >= route.bytes_per_second) return;
  route.fabric = link.fabric;
  route.bytes_per_second = speed;
  route.channels = link.channels;
}

}  // namespace

const char* Name(Fabric fabric) {
  switch (fabric) {
    case Fabric::kMemory:
      return "memory";
    case Fabric::kPci:
      return "pci";
    case Fabric::kNvlink:
      return "nvlink";
    case Fabric::kNetwork:
      return "network";
  }
  return "?";
}

absl::Status CheckRanks(const Cluster& cluster, int ranks) {
  if (ranks <= static_cast<int>(cluster.devices.size())) return absl::OkStatus();
  return InvalidArgument("cluster {} has {} and the strategy {}; at most one rank for each is allowed",
                         Quoted(cluster.name), Counted(cluster.devices.size(), "device"), Counted(ranks, "rank"));
}

int RanksByDefault(const Cluster& cluster) {
  const auto devices = static_cast<int>(cluster.devices.size());
  // Ranks take devices in their order, so they cannot pass over those of one domain for those of the next.
  const bool one_host = RanksSharingCores(cluster, 0, devices) == devices;
  const int cores = cluster.KindOf(0).cores;
  return one_host && cores > 0 ? std::min(devices, cores) : devices;
}

std::vector<int> DomainsOf(const Cluster& cluster, int device) {
  std::vector<int> path;
  for (int d = cluster.devices[device].domain; d >= 0; d = cluster.domains[d].parent) path.push_back(d);
  std::ranges::reverse(path);
  return path;
}

Link LinkBetween(const Cluster& cluster, int from, int to, const std::vector<int>& sharing) {
  Link route{Fabric::kMemory, std::numeric_limits<double>::infinity(), 0, 1};
  if (from == to) return route;
  const std::vector<int> a = DomainsOf(cluster, from), b = DomainsOf(cluster, to);
  size_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[shared] == b[shared]) ++shared;
  const auto leave = [&](int domain) {
    Pass(cluster.domains[domain].up, sharing.empty() ? 1 : std::max(sharing[domain], 1), route);
  };
  for (size_t i = shared; i < a.size(); ++i) leave(a[i]);
  Pass(cluster.domains[a[shared - 1]].within, 1, route);
  for (size_t i = shared; i < b.size(); ++i) leave(b[i]);
  return route;
}

int RanksSharingCores(const Cluster& cluster, int rank, int ranks) {
  if (!cluster.KindOf(rank).cores_shared) return 1;
  const int domain = cluster.devices[rank].domain;
  return static_cast<int>(std::count_if(cluster.devices.begin(), cluster.devices.begin() + ranks,
                                        [domain](const ClusterDevice& other) { return other.domain == domain; }));
}

}  // namespace partita
