#include "partitioner/clusters/cluster_by_default.h"

#include <algorithm>
#include <vector>

#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/proto_io/cluster_io.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

Cluster ReadShipped(const std::string& name) {
  absl::StatusOr<Cluster> cluster = ParseCluster(ShippedClusters().at(name), ProtoFormat::kText, name);
  CHECK(cluster.ok());
  return *std::move(cluster);
}

// Those whose devices are GPUs, the fastest first.
std::vector<Cluster> ReadClustersOfGpus() {
  std::vector<Cluster> clusters;
  for (const auto& [name, text] : ShippedClusters()) {
    Cluster cluster = ReadShipped(name);
    if (cluster.KindOf(0).backend == BackendKind::kCuda) clusters.push_back(std::move(cluster));
  }
  const auto rate = [](const Cluster& cluster) { return RateOf(cluster.KindOf(0), DType::kF32); };
  std::ranges::stable_sort(clusters, std::ranges::greater(), rate);
  return clusters;
}

}  // namespace

const Cluster& ClusterByDefault(const std::string& gpu) {
  static const auto& host = *new Cluster(ReadShipped("two_cores"));
  static const auto& of_gpus = *new std::vector<Cluster>(ReadClustersOfGpus());
  if (gpu.empty()) return host;
  const auto found = std::ranges::find_if(of_gpus, [&](const Cluster& each) { return each.KindOf(0).model == gpu; });
  return found == of_gpus.end() ? of_gpus.front() : *found;
}

MachineSpeed SpeedByDefault(int ranks, const std::string& gpu) {
  const Cluster& cluster = ClusterByDefault(gpu);
  return SpeedOf(cluster, std::min(ranks, static_cast<int>(cluster.devices.size())));
}

}  // namespace partita
