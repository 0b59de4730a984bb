// A cluster as a file describes it: kinds of devices, and domains that name each other.
#ifndef PARTITA_PARTITIONER_CLUSTER_CLUSTER_DESCRIPTION_H_
#define PARTITA_PARTITIONER_CLUSTER_CLUSTER_DESCRIPTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

struct DomainDescription {
  std::string name;
  std::string in;  // empty: the outermost
  int count = 1;
  std::string device;  // a kind; empty: none
  int devices = 0;
  std::optional<Link> within, up;
};

struct ClusterDescription {
  std::string name;
  std::vector<DeviceKind> kinds;
  std::vector<DomainDescription> domains;
};

// The cluster with every domain and device that is meant. kInvalidArgument: a name twice or that is none, a domain or a
// device that nothing is called (did you mean), domains that lie in each other, none or several that lie in no other,
// a link that is missing, numbers that are not positive, more than kMostRanks devices, or none.
absl::StatusOr<Cluster> MakeCluster(const ClusterDescription& description);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTER_CLUSTER_DESCRIPTION_H_
