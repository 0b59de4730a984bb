#include "partitioner/cost/check_fits.h"

#include <map>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status CheckFits(std::span<const Schedule* const> schedules, const Cluster& cluster) {
  std::map<int, int64_t> shared;  // by domain
  for (int rank = 0; rank < static_cast<int>(schedules.size()); ++rank) {
    const int64_t own = schedules[rank]->memory.total;
    const DeviceKind& kind = cluster.KindOf(rank);
    const int64_t needed = kind.cores_shared ? shared[cluster.devices[rank].domain] += own : own;
    if (needed <= kind.memory_bytes) continue;
    return ResourceExhausted("cluster {}: rank {}{} needs {} bytes, and a {} has {}", Quoted(cluster.name), rank,
                             kind.cores_shared ? ", with those that share its cores," : "", needed, Quoted(kind.name),
                             kind.memory_bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckFits(const std::vector<Schedule>& schedules, const Cluster& cluster) {
  std::vector<const Schedule*> by_rank;
  for (const Schedule& schedule : schedules) by_rank.push_back(&schedule);
  return CheckFits(by_rank, cluster);
}

}  // namespace partita
