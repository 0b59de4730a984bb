// One launch on a toy cluster, to the exact microsecond.
#include "partitioner/cost/launch_cost.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/ir/kernel_catalogue.h"
#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"

namespace partita {
namespace {

// Two nodes of two devices, each of which has 2 GB/s; 1 us and 4 GB/s within, 10 us and 1 GB/s between.
Cluster Toy() {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 1e9}}};
  kind.launch_seconds = 3e-6;
  const Link inside{Fabric::kMemory, 4e9, 1e-6, 1}, outside{Fabric::kNetwork, 1e9, 10e-6, 1};
  const Link up{Fabric::kNetwork, 1e9, 0, 1};
  const auto cluster =
      MakeCluster({"toy", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", 2, "d", 2, inside, up}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

LocalTensor Tensor(const Shape& shape) { return {DType::kF32, shape, {Shape(shape.size(), 0), shape}}; }

TEST(LaunchCost, OfKernels) {
  KernelLaunch kernel;
  kernel.node.op = Ops().Find("matmul");
  kernel.node.attributes = {{"transpose_x", false}, {"transpose_w", false}};
  kernel.node.inputs = {Tensor({10, 20}), Tensor({20, 30})};
  kernel.node.outputs = {Tensor({10, 30})};
  Launch launch;
  launch.work = kernel;
  EXPECT_DOUBLE_EQ(LaunchSeconds(launch, Toy().kinds[0], 1, {}) * 1e6, 3 + 12);
  EXPECT_DOUBLE_EQ(LaunchSeconds(launch, Toy().kinds[0], 2, {}) * 1e6, 3 + 24) << "two on the same cores";
  EXPECT_EQ(LaunchSeconds(launch, Toy().kinds[0], 1, {{SignatureOf(kernel.node), 5e-6}}), 5e-6) << "as measured";
}

TEST(LaunchCost, WhatIsCopiedIsReadAndWritten) {
  CopyLaunch copies;
  copies.zero.bytes = 2000;
  BoxCopy box;
  box.size = {5, 100};
  copies.copies = {box, box};
  Launch launch;
  launch.work = copies;
  EXPECT_DOUBLE_EQ(LaunchSeconds(launch, Toy().kinds[0], 1, {}) * 1e6, 3 + 1 + 4);
  EXPECT_DOUBLE_EQ(LaunchSeconds(launch, Toy().kinds[0], 2, {}) * 1e6, 3 + 2 * (1 + 4)) << "two on the same cores";
}

TEST(LaunchCost, TheHostAndCollectivesTakeNoneOfARanksOwn) {
  for (const bool host : {true, false}) {
    Launch launch;
    if (host) launch.work = HostLaunch();
    if (!host) launch.work = CollectiveLaunch();
    EXPECT_EQ(LaunchSeconds(launch, Toy().kinds[0], 1, {}), 0);
  }
}

TEST(LaunchCost, OfAGatherTheWholeIsWhatComesOut) {
  CollectiveLaunch call;
  call.input_count = 100;
  call.output_count = 400;
  EXPECT_EQ(BytesOf(call), 1600);
  std::swap(call.input_count, call.output_count);
  call.dtype = DType::kBF16;
  EXPECT_EQ(BytesOf(call), 800);
}

// 1,000 elements to rank 1 and 2,000 to rank 2, which is on the other node.
TEST(LaunchCost, MessagesPassWaysThatOthersShare) {
  CollectiveLaunch call;
  call.kind = CollectiveKind::kAllToAll;
  call.send_counts = {9, 1000, 2000};
  call.receive_counts = {9, 0, 0};
  const std::vector<int> group = {0, 1, 2};
  EXPECT_DOUBLE_EQ(MessageSeconds(Toy(), call, group, 0, {}) * 1e6, 1 + 1 + 10 + 8);
  EXPECT_DOUBLE_EQ(MessageSeconds(Toy(), call, group, 0, {0, 1, 1}) * 1e6, 1 + 1 + 10 + 8) << "nobody else";
  EXPECT_DOUBLE_EQ(MessageSeconds(Toy(), call, group, 0, {0, 1, 2}) * 1e6, 1 + 1 + 10 + 16);
  std::swap(call.send_counts, call.receive_counts);
  EXPECT_DOUBLE_EQ(MessageSeconds(Toy(), call, group, 0, {}) * 1e6, 1 + 1 + 10 + 8);
}

}  // namespace
}  // namespace partita
