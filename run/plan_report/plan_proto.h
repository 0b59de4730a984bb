// A plan as proto/plan.proto, from a program and a planning backend; nothing runs.
#ifndef PARTITA_RUN_PLAN_REPORT_PLAN_PROTO_H_
#define PARTITA_RUN_PLAN_REPORT_PLAN_PROTO_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "proto/plan.pb.h"
#include "runtime/api/backend/backend.h"

namespace partita {

using PlanLaunches = google::protobuf::RepeatedPtrField<PlanLocalProto>;

// Alike ranks share their launches (graph/alike), so a plan's size does not grow with the launches of all ranks.
struct Plan {
  PlanProto proto;                     // ranks without `nodes`
  std::vector<PlanLaunches> launches;  // `nodes` of each kind of ranks
  std::vector<int> of_rank;            // by rank: the index in `launches`

  const PlanLaunches& LaunchesOf(int rank) const {
    return launches[static_cast<size_t>(of_rank[static_cast<size_t>(rank)])];
  }
};

// The same arguments give the same plan. Errors are those of MakeSchedule, with the rank. With a cluster, which is
// not nullptr, also how long a step takes there, simulated, with kernels as measured in `times`, and its timeline goes
// to the file `trace` unless that is empty; kInvalidArgument: it has fewer devices than there are ranks;
// kResourceExhausted: ranks do not fit into its memory.
absl::StatusOr<Plan> MakePlan(const std::string& model, const Program& program, const Backend& backend,
                              const Cluster* cluster = nullptr, const KernelTimes& times = {},
                              const std::string& trace = "");

// As the JSON of one PlanProto in which every rank has its nodes (graph/proto_io/print_json.h), which is never whole in
// memory.
void WritePlanJson(const Plan& plan, std::ostream& out);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_PLAN_PROTO_H_
