#include "partitioner/clusters/cluster_by_default.h"

#include <algorithm>

#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/cluster_speed.h"

namespace partita {

const Cluster& ClusterByDefault(const std::string& gpu) {
  if (gpu.empty()) return ShippedClusters().at("two_cores");
  for (const auto& [name, cluster] : ShippedClusters()) {
    if (cluster.KindOf(0).model == gpu) return cluster;
  }
  return ShippedClusters().at("hgx_h200");
}

MachineSpeed SpeedByDefault(int ranks, const std::string& gpu) {
  const Cluster& cluster = ClusterByDefault(gpu);
  return SpeedOf(cluster, std::min(ranks, static_cast<int>(cluster.devices.size())));
}

}  // namespace partita
