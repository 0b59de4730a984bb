#include "partitioner/clusters/shipped_clusters.h"

#include <utility>

#include "partitioner/clusters/cluster_texts.h"
#include "partitioner/proto_io/cluster_io.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

std::map<std::string, Cluster> ReadAll() {
  std::map<std::string, Cluster> clusters;
  for (const auto& [name, text] : ClusterTexts()) {
    absl::StatusOr<Cluster> cluster = ParseCluster(text, ProtoFormat::kText, name);
    CHECK(cluster.ok());
    clusters.emplace(name, *std::move(cluster));
  }
  return clusters;
}

}  // namespace

const std::map<std::string, Cluster>& ShippedClusters() {
  static const auto& clusters = *new std::map<std::string, Cluster>(ReadAll());
  return clusters;
}

}  // namespace partita
