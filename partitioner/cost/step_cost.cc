#include "partitioner/cost/step_cost.h"

#include <map>
#include <variant>

#include "graph/value/node_name.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/cost/launch_cost.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// All groups along the same axes at the same time.
double CollectiveSecondsOf(const Program& program, const CollectiveLaunch& call, int rank, const Cluster& cluster) {
  const CommunicationGroup& own = program.groups[call.group];
  if (call.kind == CollectiveKind::kAllToAll) return MessageSeconds(cluster, call, own.ranks, rank, {});
  std::vector<std::vector<int>> groups;
  size_t which = 0;
  for (const CommunicationGroup& group : program.groups) {
    if (group.key != own.key) continue;
    if (group.ranks == own.ranks) which = groups.size();
    groups.push_back(group.ranks);
  }
  return GroupSeconds(cluster, call.kind, BytesOf(call), groups, which);
}

}  // namespace

StepCost CostOfStep(const Program& program, const Schedule& schedule, const Cluster& cluster,
                    const KernelTimes& times) {
  const int rank = schedule.rank, sharing = RanksSharingCores(cluster, rank, program.ranks());
  StepCost cost;
  for (const Launch& launch : schedule.launches) {
    const auto* const call = std::get_if<CollectiveLaunch>(&launch.work);
    if (call == nullptr) cost.compute += LaunchSeconds(launch, cluster.KindOf(rank), sharing, times);
    if (call != nullptr) cost.communication += CollectiveSecondsOf(program, *call, rank, cluster);
  }
  return cost;
}

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
