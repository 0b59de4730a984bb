// Simulates the time of a step on a cluster: it walks the schedules that executors run, without running anything.
//
// A launch starts when the one before it on its stream and those that it waits for have ended; a little later where its
// stream has waited for another one (DeviceKind::wake_seconds). A kernel or a copy then takes its time
// (partitioner/cost), by how many compute on the same cores (shared_cores.h); a collective waits for its group and
// shares ways with others (meetings.h). Ranks that do the same at the same times are simulated once (rank_classes.h).
//
// Not simulated: the host's work at a step's beginning and end; contention between streams of a device, where each
// kernel is assumed to have the device alone; the work of cores on messages; and a rank that ends early and begins its
// next step before the others.
#ifndef PARTITA_PARTITIONER_SIMULATE_SIMULATE_H_
#define PARTITA_PARTITIONER_SIMULATE_SIMULATE_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "graph/timeline/timeline.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {

struct SimulationOptions {
  KernelTimes times = {};  // measured kernels; what is not in them takes the roofline's time
  bool fold = true;        // off: every rank by itself, for tests
};

struct SimulatedStep {
  std::vector<RankTimeline> timelines;  // of the first rank of each class
  std::vector<int> of_rank;             // by rank: its place among them

  const RankTimeline& Of(int rank) const { return timelines[static_cast<size_t>(of_rank[static_cast<size_t>(rank)])]; }
  // Until the last launch of all has ended.
  double seconds() const;
};

// `schedules`: of one entry point, by rank; they outlive the step. Ranks that are alike may share one
// (FoldedSchedules). The same arguments give the same step to the last bit. kInvalidArgument: the cluster has fewer
// devices than there are ranks, or the step takes more than 1e9 seconds there. kInternal: collectives do not meet
// (VerifyCollectives says which).
absl::StatusOr<SimulatedStep> Simulate(const Program& program, std::span<const Schedule* const> schedules,
                                       const Cluster& cluster, const SimulationOptions& options = {});

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_SIMULATE_H_
