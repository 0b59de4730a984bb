#include "partitioner/cost/step_cost.h"

#include <algorithm>
#include <map>
#include <variant>

#include "graph/value/node_name.h"
#include "partitioner/cost/group_cost.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class StepReader {
 public:
  StepReader(const Program& program, const Schedule& schedule, const Cluster& cluster, const KernelTimes& times)
      : program_(program),
        rank_(schedule.rank),
        cluster_(cluster),
        times_(times),
        sharing_(RanksSharingCores(cluster, schedule.rank, program.ranks())) {}

  void Add(const Launch& launch, StepCost& cost) const {
    if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) {
      cost.compute += ComputeSeconds(kernel->node, times_, Kind(), sharing_);
    } else if (const auto* const copies = std::get_if<CopyLaunch>(&launch.work)) {
      cost.compute += SecondsOf(*copies);
    } else if (const auto* const call = std::get_if<CollectiveLaunch>(&launch.work)) {
      cost.communication += call->kind == CollectiveKind::kAllToAll ? SecondsOfMessages(*call) : SecondsOf(*call);
    }
  }

 private:
  const DeviceKind& Kind() const { return cluster_.KindOf(rank_); }

  // What is copied is read and written.
  double SecondsOf(const CopyLaunch& launch) const {
    auto bytes = static_cast<double>(launch.zero.bytes);
    for (const BoxCopy& copy : launch.copies) {
      bytes += 2 * static_cast<double>(Elements(copy.size) * copy.element_bytes);
    }
    return RooflineSeconds({0, bytes, DType::kF32}, Kind(), sharing_);
  }

  double SecondsOf(const CollectiveLaunch& call) const {
    std::vector<std::vector<int>> groups;
    const CommunicationGroup& own = program_.groups[call.group];
    size_t which = 0;
    for (const CommunicationGroup& group : program_.groups) {
      if (group.key != own.key) continue;
      if (group.ranks == own.ranks) which = groups.size();
      groups.push_back(group.ranks);
    }
    // Of a gather the whole is what comes out, of a scatter what goes in.
    const int64_t elements = std::max(call.input_count, call.output_count);
    const auto bytes = static_cast<double>(elements * SizeOf(call.dtype));
    return GroupSeconds(cluster_, call.kind, bytes, groups, which);
  }

  // Each rank to those that it has something for: what it sends one after the other, or what it receives.
  double SecondsOfMessages(const CollectiveLaunch& call) const {
    return std::max(SecondsOfMessages(call, call.send_counts), SecondsOfMessages(call, call.receive_counts));
  }

  double SecondsOfMessages(const CollectiveLaunch& call, const std::vector<int64_t>& counts) const {
    const std::vector<int>& ranks = program_.groups[call.group].ranks;
    double seconds = 0;
    for (size_t r = 0; r < counts.size(); ++r) {
      if (counts[r] == 0 || ranks[r] == rank_) continue;
      const Link link = LinkBetween(cluster_, rank_, ranks[r]);
      seconds += link.latency_seconds + static_cast<double>(counts[r] * SizeOf(call.dtype)) / link.bytes_per_second;
    }
    return seconds;
  }

  const Program& program_;
  const int rank_;
  const Cluster& cluster_;
  const KernelTimes& times_;
  const int sharing_;
};

}  // namespace

StepCost CostOfStep(const Program& program, const Schedule& schedule, const Cluster& cluster,
                    const KernelTimes& times) {
  const StepReader reader(program, schedule, cluster, times);
  StepCost cost;
  for (const Launch& launch : schedule.launches) reader.Add(launch, cost);
  return cost;
}

absl::Status CheckFits(const std::vector<Schedule>& schedules, const Cluster& cluster) {
  std::map<int, int64_t> shared;  // by domain
  for (const Schedule& schedule : schedules) {
    const DeviceKind& kind = cluster.KindOf(schedule.rank);
    const int domain = cluster.devices[schedule.rank].domain;
    const int64_t needed = kind.cores_shared ? shared[domain] += schedule.memory.total : schedule.memory.total;
    if (needed <= kind.memory_bytes) continue;
    return ResourceExhausted("cluster {}: rank {}{} needs {} bytes, and a {} has {}", Quoted(cluster.name),
                             schedule.rank, kind.cores_shared ? ", with those that share its cores," : "", needed,
                             Quoted(kind.name), kind.memory_bytes);
  }
  return absl::OkStatus();
}

}  // namespace partita
