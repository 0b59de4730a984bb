#include "tests/partitioner/hosts.h"

#include "partitioner/cluster/cluster_description.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

DeviceKind KindOf(double bytes_per_second, double flops_per_second, double launch_seconds) {
  DeviceKind kind{"d", BackendKind::kHost, 1 << 30, bytes_per_second, {{DType::kF32, flops_per_second}}};
  kind.launch_seconds = launch_seconds;
  return kind;
}

}  // namespace

Cluster HostOf(const DeviceKind& kind, int devices, const Link& link) {
  absl::StatusOr<Cluster> cluster = MakeCluster({"host", {kind}, {{"host", "", 1, kind.name, devices, link, {}}}});
  CHECK(cluster.ok());
  return *std::move(cluster);
}

Cluster FourDevices() { return HostOf(KindOf(20e9, 100e9, 1e-6), 4, {Fabric::kMemory, 1e9, 5e-6, 1}); }

Cluster FourWithFastLinks() { return HostOf(KindOf(1e9, 1e9, 1e-9), 4, {Fabric::kMemory, 1e10, 1e-8, 1}); }

}  // namespace partita
