// What the compiler's choices ask of a toy cluster, reckoned by hand.
#include "partitioner/cost/cluster_speed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "partitioner/cluster/cluster_description.h"

namespace partita {
namespace {

// Two nodes of two devices: 10 and 40 GFLOP/s, 2 GB/s, 3 us a launch, 4 us a wait; 1 us and 4 GB/s within, 10 us and
// 1 GB/s between.
Cluster Toy(bool cores_shared) {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 10e9}, {DType::kBF16, 40e9}}};
  kind.launch_seconds = 3e-6;
  kind.wake_seconds = 4e-6;
  kind.cores_shared = cores_shared;
  const Link inside{Fabric::kMemory, 4e9, 1e-6, 1}, outside{Fabric::kNetwork, 1e9, 10e-6, 1};
  const Link up{Fabric::kNetwork, 1e9, 0, 1};
  const auto cluster =
      MakeCluster({"toy", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", 2, "d", 2, inside, up}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

TEST(ClusterSpeed, OfTheDevices) {
  const DeviceSpeed alone = SpeedOf(Toy(false), 4).device, shared = SpeedOf(Toy(true), 4).device;
  EXPECT_EQ(alone.flops_per_second, 10e9);
  EXPECT_EQ(alone.bf16_flops_per_second, 40e9);
  EXPECT_EQ(alone.bytes_per_second, 2e9);
  EXPECT_EQ(alone.launch_seconds, 3e-6);
  EXPECT_EQ(alone.wait_seconds, 4e-6);
  EXPECT_EQ(shared.flops_per_second, 5e9) << "two ranks on a node's cores";
  EXPECT_EQ(shared.bytes_per_second, 1e9);
  EXPECT_EQ(SpeedOf(Toy(true), 3).device.flops_per_second, 5e9) << "that of the fuller node";
  EXPECT_EQ(SpeedOf(Toy(true), 1).device.flops_per_second, 10e9);
}

TEST(ClusterSpeed, MessagesAreThoseOfTheSlowestLink) {
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 2).message.latency_seconds, 1e-6);
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 2).message.bytes_per_second, 4e9);
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 3).message.latency_seconds, 10e-6);
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 4).message.bytes_per_second, 1e9);
}

// An all_reduce of two ranks: 2 messages, and all bytes pass a link once.
TEST(ClusterSpeed, CollectivesAreThoseOfAllRanks) {
  const LinkSpeed pair = SpeedOf(Toy(false), 2).collective;
  EXPECT_NEAR(pair.latency_seconds, 2e-6, 1e-8);
  EXPECT_NEAR(pair.bytes_per_second, 4e9, 1e4);
  EXPECT_GT(SpeedOf(Toy(false), 4).collective.latency_seconds, 10e-6);
  EXPECT_LT(SpeedOf(Toy(false), 4).collective.bytes_per_second, 1e9);
}

// What one device computes while four messages are on their way.
TEST(ClusterSpeed, WorkHidesFourMessages) {
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 2).hiding_flops, 4 * 1e-6 * 10e9);
  EXPECT_DOUBLE_EQ(SpeedOf(Toy(false), 4).hiding_flops, 4 * 10e-6 * 10e9);
}

TEST(ClusterSpeed, OneRankHasNobodyToTalkTo) {
  const MachineSpeed alone = SpeedOf(Toy(false), 1);
  EXPECT_EQ(alone.message.latency_seconds, 0);
  EXPECT_EQ(alone.collective.bytes_per_second, 0);
  EXPECT_EQ(alone.hiding_flops, 0);
}

TEST(RingBytesPerSecond, IsThatOfItsSlowestLink) {
  EXPECT_EQ(RingBytesPerSecond(Toy(false), 2, 2), 4e9);
  EXPECT_EQ(RingBytesPerSecond(Toy(false), 1, 2), 1e9);
  EXPECT_TRUE(std::isinf(RingBytesPerSecond(Toy(false), 3, 1)));
}

}  // namespace
}  // namespace partita
