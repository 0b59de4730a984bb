// Which machine is taken where nobody says one, and what choices are made by there.
#include "partitioner/clusters/cluster_by_default.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(ClusterByDefault, IsTheOneThatHasTheDevice) {
  EXPECT_EQ(ClusterByDefault().name, "two-cores");
  EXPECT_EQ(ClusterByDefault("NVIDIA H200").name, "hgx-h200");
  EXPECT_EQ(ClusterByDefault("NVIDIA H100 80GB HBM3").name, "hgx-h100");
  EXPECT_EQ(ClusterByDefault("NVIDIA B200").name, "dgx-b200");
  EXPECT_EQ(ClusterByDefault("NVIDIA GB200").name, "gb200-nvl72");
  EXPECT_EQ(ClusterByDefault("NVIDIA A100-SXM4-80GB").name, "dgx-a100");
  EXPECT_EQ(ClusterByDefault("Tesla V100-SXM2-32GB").name, "dgx-1-v100");
  EXPECT_EQ(ClusterByDefault("a GPU of next year").name, "hgx-h200") << "the one that is described";
}

// Nothing divides by a speed that is 0.
TEST(SpeedByDefault, HasEverySpeedThatIsAskedFor) {
  for (const std::string gpu : {"", "NVIDIA H200", "unknown"}) {
    for (const int ranks : {1, 2, 8, 16384}) {
      const MachineSpeed speed = SpeedByDefault(ranks, gpu);
      EXPECT_GT(speed.device.flops_per_second, 0) << gpu << ranks;
      EXPECT_GT(speed.device.bf16_flops_per_second, 0) << gpu << ranks;
      EXPECT_GT(speed.device.bytes_per_second, 0) << gpu << ranks;
      EXPECT_EQ(speed.device.wait_seconds > 0, !gpu.empty()) << gpu << ranks;
      if (ranks == 1) continue;
      EXPECT_GT(speed.message.bytes_per_second, 0) << gpu << ranks;
      EXPECT_GT(speed.message.latency_seconds, 0) << gpu << ranks;
      EXPECT_GT(speed.collective.bytes_per_second, 0) << gpu << ranks;
      EXPECT_GT(speed.collective.latency_seconds, 0) << gpu << ranks;
      EXPECT_GT(speed.hiding_flops, 0) << gpu << ranks;
    }
  }
}

TEST(SpeedByDefault, OfMoreRanksThanDevicesIsThatOfAllDevices) {
  EXPECT_EQ(SpeedByDefault(9, "NVIDIA H200").collective.latency_seconds,
            SpeedByDefault(8, "NVIDIA H200").collective.latency_seconds);
  EXPECT_LT(SpeedByDefault(2).collective.latency_seconds, SpeedByDefault(8).collective.latency_seconds);
}

}  // namespace
}  // namespace partita
