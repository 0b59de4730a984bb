// What is predicted of a step of several ranks: of each term the most of any.
#include "partitioner/cost/predict_step.h"

#include <gtest/gtest.h>

#include <utility>

#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"

namespace partita {
namespace {

// Two devices: 1 GFLOP/s, 2 GB/s, 3 us a launch; 1 us and 4 GB/s between.
Cluster Pair() {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 1e9}}};
  kind.launch_seconds = 3e-6;
  const auto cluster =
      MakeCluster({"pair", {kind}, {{"host", "", 1, "d", 2, Link{Fabric::kMemory, 4e9, 1e-6, 1}, {}}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

LocalTensor Tensor(const Shape& shape) { return {DType::kF32, shape, {Shape(shape.size(), 0), shape}}; }

KernelLaunch Product() {
  KernelLaunch kernel;
  kernel.node.op = Ops().Find("matmul");
  kernel.node.attributes = {{"transpose_x", false}, {"transpose_w", false}};
  kernel.node.inputs = {Tensor({10, 20}), Tensor({20, 30})};
  kernel.node.outputs = {Tensor({10, 30})};
  return kernel;
}

Schedule ScheduleOf(int rank, int products, int64_t elements, int64_t memory) {
  Schedule schedule;
  schedule.rank = rank;
  schedule.memory.total = memory;
  Launch launch;
  launch.work = Product();
  for (int product = 0; product < products; ++product) schedule.launches.push_back(launch);
  CollectiveLaunch call;
  call.input_count = call.output_count = elements;
  launch.work = call;
  schedule.launches.push_back(std::move(launch));
  return schedule;
}

// A product takes 3 + 12 us, or what was measured; an all_reduce of 8,000 bytes 2 + 2 us, of 16,000 bytes 2 + 4 us.
TEST(PredictStep, TakesTheMostOfAnyRank) {
  Program program;
  program.meshes[0].axes = {{"data", 2}};
  program.groups = {{{0, 0, {0}}, {0, 1}}};
  const std::vector<Schedule> schedules = {ScheduleOf(0, 2, 2000, 700), ScheduleOf(1, 1, 4000, 900)};
  const StepPrediction prediction = PredictStep(program, schedules, Pair(), {});
  EXPECT_DOUBLE_EQ(prediction.compute * 1e6, 30);
  EXPECT_DOUBLE_EQ(prediction.communication * 1e6, 6);
  EXPECT_DOUBLE_EQ(prediction.step * 1e6, 30 + 4);
  EXPECT_EQ(prediction.memory_bytes, 900);
  const StepPrediction measured = PredictStep(program, schedules, Pair(), {{SignatureOf(Product().node), 1e-6}});
  EXPECT_DOUBLE_EQ(measured.compute * 1e6, 2);
  EXPECT_DOUBLE_EQ(measured.step * 1e6, 1 + 6) << "of the other rank now";
}

}  // namespace
}  // namespace partita
