// Clusters of one domain, for tests.
#ifndef PARTITA_TESTS_PARTITIONER_HOSTS_H_
#define PARTITA_TESTS_PARTITIONER_HOSTS_H_

#include "partitioner/cluster/cluster.h"

namespace partita {

// This number of devices of a kind, each linked to the others.
Cluster HostOf(const DeviceKind& kind, int devices, const Link& link);

// On which larger models are worth being split, and smaller ones are not.
Cluster FourDevices();

// Whose links are so fast that everything is worth being split.
Cluster FourWithFastLinks();

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_HOSTS_H_
