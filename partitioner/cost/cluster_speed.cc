#include "partitioner/cost/cluster_speed.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "partitioner/cost/compute_cost.h"
#include "partitioner/cost/group_cost.h"

namespace partita {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An exchange has begun after so many messages, of which each is waited for.
constexpr double kMessagesOfExchange = 4;

DeviceSpeed SlowestDevice(const Cluster& cluster, int ranks) {
  DeviceSpeed slowest;
  slowest.flops_per_second = slowest.bf16_flops_per_second = slowest.bytes_per_second = kInfinity;
  std::vector<int> sharing(cluster.domains.size(), 0);
  for (int r = 0; r < ranks; ++r) ++sharing[cluster.devices[r].domain];
  for (int r = 0; r < ranks; ++r) {
    const DeviceKind& kind = cluster.KindOf(r);
    const double share = kind.cores_shared ? sharing[cluster.devices[r].domain] : 1;
    slowest.flops_per_second = std::min(slowest.flops_per_second, RateOf(kind, DType::kF32) / share);
    slowest.bf16_flops_per_second = std::min(slowest.bf16_flops_per_second, RateOf(kind, DType::kBF16) / share);
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, kind.bytes_per_second / share);
    slowest.launch_seconds = std::max(slowest.launch_seconds, kind.launch_seconds);
    slowest.wait_seconds = std::max(slowest.wait_seconds, kind.wake_seconds);
  }
  return slowest;
}

LinkSpeed SlowestOfRing(const Cluster& cluster, int first, int count) {
  LinkSpeed slowest{0, kInfinity};
  for (int r = 0; r < count; ++r) {
    const Link link = LinkBetween(cluster, first + r, first + (r + 1) % count);
    slowest.latency_seconds = std::max(slowest.latency_seconds, link.latency_seconds);
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
  }
  return slowest;
}

// By a small and a large one.
LinkSpeed SpeedOfAllReduce(const Cluster& cluster, int ranks) {
  constexpr double kSmall = 8, kLarge = 64e6;
  std::vector<std::vector<int>> all(1, std::vector<int>(ranks));
  std::iota(all[0].begin(), all[0].end(), 0);
  const double latency = GroupSeconds(cluster, CollectiveKind::kAllReduce, kSmall, all, 0);
  return {latency, kLarge / (GroupSeconds(cluster, CollectiveKind::kAllReduce, kLarge, all, 0) - latency)};
}

}  // namespace

MachineSpeed SpeedOf(const Cluster& cluster, int ranks) {
  MachineSpeed speed;
  speed.device = SlowestDevice(cluster, ranks);
  if (ranks > 1) {
    speed.message = SlowestOfRing(cluster, 0, ranks);
    speed.collective = SpeedOfAllReduce(cluster, ranks);
  }
  speed.hiding_flops = kMessagesOfExchange * speed.message.latency_seconds * speed.device.flops_per_second;
  return speed;
}

double RingBytesPerSecond(const Cluster& cluster, int first, int count) {
  return count == 1 ? kInfinity : SlowestOfRing(cluster, first, count).bytes_per_second;
}

}  // namespace partita
