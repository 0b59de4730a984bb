#include "partitioner/clusters/cluster_by_default.h"

#include <algorithm>

#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {
namespace {

double RateOf(const Cluster& cluster) { return RateOf(cluster.KindOf(0), DType::kF32); }

}  // namespace

const Cluster& ClusterByDefault(const std::string& gpu) {
  if (gpu.empty()) return ShippedClusters().at("two_cores");
  const Cluster* fastest = nullptr;
  for (const auto& [name, cluster] : ShippedClusters()) {
    if (cluster.KindOf(0).model == gpu) return cluster;
    if (fastest == nullptr || RateOf(cluster) > RateOf(*fastest)) fastest = &cluster;
  }
  return *fastest;
}

MachineSpeed SpeedByDefault(int ranks, const std::string& gpu) {
  const Cluster& cluster = ClusterByDefault(gpu);
  return SpeedOf(cluster, std::min(ranks, static_cast<int>(cluster.devices.size())));
}

}  // namespace partita
