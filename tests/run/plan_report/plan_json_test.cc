// The JSON of a plan whose ranks share launches is that of the plan in which each rank has its own.
#include <gtest/gtest.h>

#include <sstream>

#include "graph/proto_io/print_json.h"
#include "run/plan_report/plan_proto.h"

namespace partita {
namespace {

PlanLaunches Launches(int count) {
  PlanLaunches launches;
  for (int l = 0; l < count; ++l) {
    PlanLocalProto& launch = *launches.Add();
    launch.set_name("launch\n \"nodes\": [] " + std::to_string(l));
    launch.add_shape(l);
    if (l % 2 == 0) launch.mutable_roofline()->set_bound("compute");
  }
  return launches;
}

Plan PlanOf(const std::vector<int>& launches, std::vector<int> of_rank) {
  Plan plan;
  plan.proto.set_model(" \"ranks\": []");
  plan.proto.add_groups()->add_axes("data");
  for (const int count : launches) plan.launches.push_back(Launches(count));
  plan.of_rank = std::move(of_rank);
  for (size_t r = 0; r < plan.of_rank.size(); ++r) {
    PlanRankProto& rank = *plan.proto.add_ranks();
    rank.set_rank(static_cast<int>(r));
    rank.mutable_memory()->set_total_bytes(static_cast<int64_t>(r));
    if (r % 2 == 1) rank.mutable_time()->set_step_seconds(1.5);
  }
  plan.proto.add_nodes()->set_name("x");
  plan.proto.add_left_out("why");
  return plan;
}

TEST(WritePlanJson, IsThatOfTheWholeMessage) {
  for (const Plan& plan : {PlanOf({3}, {0}), PlanOf({2, 3}, {0, 1, 0, 1, 1}), PlanOf({0, 1}, {0, 1, 0})}) {
    PlanProto whole = plan.proto;
    for (int r = 0; r < whole.ranks_size(); ++r) *whole.mutable_ranks(r)->mutable_nodes() = plan.LaunchesOf(r);
    std::ostringstream written;
    WritePlanJson(plan, written);
    EXPECT_EQ(written.str(), PrintJson(whole));
  }
}

}  // namespace
}  // namespace partita
