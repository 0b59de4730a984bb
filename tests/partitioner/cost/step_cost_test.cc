// A rank's launches on a toy cluster, to the exact microsecond.
#include "partitioner/cost/step_cost.h"

#include <gmock/gmock.h>

#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"
#include "partitioner/cost/group_cost.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

// Two nodes of two devices: 1 GFLOP/s, 2 GB/s, 3 us a launch; 1 us and 4 GB/s within, 10 us and 1 GB/s between.
Cluster Toy(bool cores_shared) {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 1e9}}};
  kind.launch_seconds = 3e-6;
  kind.cores_shared = cores_shared;
  const Link inside{Fabric::kMemory, 4e9, 1e-6, 1}, outside{Fabric::kNetwork, 1e9, 10e-6, 1};
  const Link up{Fabric::kNetwork, 1e9, 0, 1};
  const auto cluster =
      MakeCluster({"toy", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", 2, "d", 2, inside, up}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

// data:2 model:2; groups over data cross the nodes.
Program FourRanks() {
  Program program;
  program.meshes[0].axes = {{"data", 2}, {"model", 2}};
  program.groups = {{{0, 0, {0}}, {0, 2}}, {{0, 0, {0}}, {1, 3}}, {{0, 0, {1}}, {0, 1}}, {{0, 0, {1}}, {2, 3}}};
  return program;
}

Launch LaunchOf(std::variant<KernelLaunch, CopyLaunch, CollectiveLaunch, HostLaunch> work) {
  Launch launch;
  launch.work = std::move(work);
  return launch;
}

StepCost CostOf(Launch launch, bool cores_shared = false) {
  Schedule schedule;
  schedule.rank = 1;
  schedule.launches.push_back(std::move(launch));
  return CostOfStep(FourRanks(), schedule, Toy(cores_shared));
}

LocalTensor Tensor(const Shape& shape) { return {DType::kF32, shape, {Shape(shape.size(), 0), shape}}; }

TEST(StepCost, OfKernels) {
  KernelLaunch kernel;
  kernel.node.op = Ops().Find("matmul");
  kernel.node.attributes = {{"transpose_x", false}, {"transpose_w", false}};
  kernel.node.inputs = {Tensor({10, 20}), Tensor({20, 30})};
  kernel.node.outputs = {Tensor({10, 30})};
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(kernel)).compute * 1e6, 3 + 12);
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(kernel), true).compute * 1e6, 3 + 24) << "with the other rank of the node";
  EXPECT_EQ(CostOf(LaunchOf(kernel)).communication, 0);
}

TEST(StepCost, OfCopies) {
  CopyLaunch copies;
  copies.zero.bytes = 2000;
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(copies)).compute * 1e6, 3 + 1);
}

// Within a node 2 (1 + 1) us for 8,000 bytes. Both groups over data leave their node at the same time: half the speed.
TEST(StepCost, OfCollectives) {
  CollectiveLaunch call;
  call.input_count = call.output_count = 2000;
  call.group = 2;
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(call)).communication * 1e6, 2 * 1 + 2);
  call.group = 1;
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(call)).communication * 1e6, 2 * 10 + 16);
  call.kind = CollectiveKind::kAllGather;
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(call)).communication * 1e6, 10 + 8);
}

// Rank 1 sends 1,000 elements to rank 0, keeps some, and receives 3,000.
TEST(StepCost, OfMessages) {
  CollectiveLaunch call;
  call.kind = CollectiveKind::kAllToAll;
  call.group = 2;
  call.send_counts = {1000, 500};
  call.receive_counts = {3000, 500};
  EXPECT_DOUBLE_EQ(CostOf(LaunchOf(call)).communication * 1e6, 1 + 3);
}

TEST(StepCost, WhatDoesNotFitIsRefused) {
  std::vector<Schedule> schedules(2);
  for (int r = 0; r < 2; ++r) {
    schedules[r].rank = r;
    schedules[r].memory.total = 600;
  }
  EXPECT_TRUE(CheckFits(schedules, Toy(false)).ok());
  const absl::Status status = CheckFits(schedules, Toy(true));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs 1200 bytes, and a 'd' has 1000"));
  const std::vector<const Schedule*> folded = {&schedules[0], &schedules[0]};
  EXPECT_EQ(CheckFits(folded, Toy(true)), status);
}

}  // namespace
}  // namespace partita
