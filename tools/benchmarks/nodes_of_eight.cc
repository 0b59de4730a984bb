#include "tools/benchmarks/nodes_of_eight.h"

#include "partitioner/cluster/cluster_description.h"

namespace partita {

absl::StatusOr<Cluster> NodesOfEight(int ranks) {
  DeviceKind kind{"gpu", BackendKind::kCuda, int64_t{1} << 37, 2e12, {{DType::kF32, 2e13}}};
  kind.launch_seconds = 2e-6;
  kind.compute_capability = 80;
  const Link within{Fabric::kNvlink, 2e11, 1e-6, 12}, between{Fabric::kNetwork, 1e11, 3e-6, 8};
  return MakeCluster(
      {"nodes of eight",
       {kind},
       {{"all", "", 1, "", 0, between, {}},
        {"node", "all", (ranks + kDevicesOfNode - 1) / kDevicesOfNode, "gpu", kDevicesOfNode, within, between}}});
}

}  // namespace partita
