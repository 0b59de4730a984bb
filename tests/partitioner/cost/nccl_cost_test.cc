// NCCL's model: latencies and speeds reckoned by hand from its constants.
#include "partitioner/cost/nccl_cost.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr CollectiveKind kAllReduce = CollectiveKind::kAllReduce;

NcclTopology Gpus(int ranks, int nodes, GpuGeneration generation, int channels, double channel_bandwidth) {
  NcclTopology topology;
  topology.ranks = ranks;
  topology.nodes = nodes;
  topology.generation = generation;
  topology.channels = channels;
  topology.within_bandwidth = topology.between_bandwidth = channel_bandwidth;
  return topology;
}

// LL, LL128, Simple.
void ExpectLatencies(NcclAlgorithm algorithm, const NcclTopology& topology, double ll, double ll128, double simple) {
  const double expected[] = {ll, ll128, simple};
  for (NcclProtocol protocol : kNcclProtocols) {
    EXPECT_NEAR(NcclLatency(kAllReduce, algorithm, protocol, topology) * 1e6, expected[static_cast<int>(protocol)],
                1e-9)
        << Name(algorithm) << " " << Name(protocol);
  }
}

TEST(NcclCost, LatenciesInANode) {
  const NcclTopology eight = Gpus(8, 1, GpuGeneration::kHopper, 16, 20e9);
  ExpectLatencies(NcclAlgorithm::kRing, eight, 15.0, 40.6, 56.0);
  ExpectLatencies(NcclAlgorithm::kTree, eight, 15.2, 31.5, 64.4);
  ExpectLatencies(NcclAlgorithm::kRing, Gpus(2, 1, GpuGeneration::kHopper, 16, 20e9), 7.8, 17.8, 15.2);
  EXPECT_NEAR(NcclLatency(kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple, eight) * 1e6, 25, 1e-9);
}

TEST(NcclCost, LatenciesOverSixteenNodes) {
  const NcclTopology many = Gpus(128, 16, GpuGeneration::kHopper, 16, 20e9);
  ExpectLatencies(NcclAlgorithm::kTree, many, 55.2, 99.5, 176.4);
  ExpectLatencies(NcclAlgorithm::kRing, many, 311.6, 559.6, 1190.0);
}

TEST(NcclCost, AnAllGatherIsHalfOfARing) {
  const NcclTopology eight = Gpus(8, 1, GpuGeneration::kAmpere, 24, 10e9);
  EXPECT_NEAR(NcclLatency(CollectiveKind::kAllGather, NcclAlgorithm::kRing, NcclProtocol::kLl, eight) * 1e6,
              6.6 + 7 * 0.6, 1e-9);
  EXPECT_NEAR(NcclBandwidth(CollectiveKind::kAllGather, NcclAlgorithm::kRing, NcclProtocol::kSimple, eight),
              2 * NcclBandwidth(kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple, eight), 1);
}

// 120 GB/s of links: a ring of 8 reduces 8/14 of that, LL at most 39 of 60, LL128 0.92 of it.
TEST(NcclCost, SpeedsOfDgx1) {
  const NcclTopology dgx1 = Gpus(8, 1, GpuGeneration::kVolta, 12, 10e9);
  const auto speed = [&](NcclAlgorithm algorithm, NcclProtocol protocol) {
    return NcclBandwidth(kAllReduce, algorithm, protocol, dgx1) / 1e9;
  };
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kSimple), 120 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kLl), 39 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kLl128), 110.4 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kTree, NcclProtocol::kSimple), 110.4 / 2, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kTree, NcclProtocol::kLl), 110.4 / 3.8 / 2, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kTree, NcclProtocol::kLl128), 110.4 * 7 / 9 / 2, 1e-9);
}

// nccl-tests on one node of Hopper's: 475 to 480 GB/s of bus bandwidth over NVLS, 370 over a ring
// (docs/papers.md 13.2).
TEST(NcclCost, BusBandwidthsAreThoseThatWereMeasured) {
  const NcclTopology hgx = Gpus(8, 1, GpuGeneration::kHopper, 16, 370.8e9 / 16);
  const auto bus = [&](NcclAlgorithm algorithm) {
    return NcclBandwidth(kAllReduce, algorithm, NcclProtocol::kSimple, hgx) * 2 * 7 / 8 / 1e9;
  };
  EXPECT_NEAR(bus(NcclAlgorithm::kNvls) / 475, 1, 0.05);
  EXPECT_NEAR(bus(NcclAlgorithm::kRing) / 370, 1, 0.05);
  EXPECT_EQ(CheapestNccl(kAllReduce, int64_t{1} << 30, hgx).algorithm, NcclAlgorithm::kNvls);
}

// The bytes that cross a link, S (n + 1) / n, are never faster than the link is.
TEST(NcclCost, NvlsIsNoFasterThanItsLinks) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const NcclTopology node = Gpus(ranks, 1, GpuGeneration::kHopper, 16, 370.8e9 / 16);
    const double speed = NcclBandwidth(kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple, node);
    EXPECT_NEAR(speed * (ranks + 1) / ranks / 370.8e9, 0.85 * 15 / 16, 1e-12) << ranks;
    const NcclAlgorithm fastest = CheapestNccl(kAllReduce, int64_t{1} << 30, node).algorithm;
    EXPECT_EQ(fastest, ranks <= 4 ? NcclAlgorithm::kRing : NcclAlgorithm::kNvls) << ranks;
  }
  const NcclTopology hgx = Gpus(8, 1, GpuGeneration::kHopper, 16, 370.8e9 / 16);
  EXPECT_FALSE(NcclOffers(kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kLl, hgx));
  EXPECT_FALSE(NcclOffers(CollectiveKind::kBroadcast, NcclAlgorithm::kRing, NcclProtocol::kLl, hgx));
}

// By NCCL's limits of Blackwell, for 16 channels of 45 GB/s: 8 of 90, doubled.
TEST(NcclCost, OfBlackwell) {
  const NcclTopology node = Gpus(8, 1, GpuGeneration::kBlackwell, 16, 45e9);
  const auto speed = [&](NcclAlgorithm algorithm, NcclProtocol protocol) {
    return NcclBandwidth(kAllReduce, algorithm, protocol, node) / 1e9;
  };
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kSimple), 720 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kLl), 282 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kRing, NcclProtocol::kLl128), 16 * 40 * 8.0 / 14, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kTree, NcclProtocol::kSimple), 720 * 0.92 / 2, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kTree, NcclProtocol::kLl128), 720 * 0.92 * 7 / 9 / 2, 1e-9);
  EXPECT_NEAR(speed(NcclAlgorithm::kNvls, NcclProtocol::kSimple), 720 * 0.74 * 15 / 16 * 8 / 9, 1e-9);
  // A rack is one node, whose ring has 142 hops.
  const NcclTopology rack = Gpus(72, 1, GpuGeneration::kBlackwell, 16, 45e9);
  EXPECT_EQ(CheapestNccl(kAllReduce, int64_t{1} << 30, rack).algorithm, NcclAlgorithm::kNvls);
}

TEST(NcclCost, TheCheapestPairBySize) {
  const NcclTopology dgx1 = Gpus(8, 1, GpuGeneration::kVolta, 12, 10e9);
  const NcclChoice small = CheapestNccl(kAllReduce, 1024, dgx1), large = CheapestNccl(kAllReduce, 1 << 28, dgx1);
  EXPECT_EQ(small.protocol, NcclProtocol::kLl);
  EXPECT_NEAR(small.seconds * 1e6, 15.0 + 1024 / (39e9 * 8 / 14) * 1e6, 1e-6);
  EXPECT_EQ(large.algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(large.protocol, NcclProtocol::kSimple);
  EXPECT_NEAR(large.seconds * 1e6, 56.0 + (1 << 28) / (120e9 * 8 / 14) * 1e6, 1e-6);
  EXPECT_EQ(CheapestNccl(kAllReduce, 1024, Gpus(1, 1, GpuGeneration::kVolta, 12, 10e9)).seconds, 0);
}

// Middling sizes of a tree are corrected; over nodes a large ring's latency is 1.9 times as long before Ampere.
TEST(NcclCost, CorrectionsOfSize) {
  const NcclTopology dgx1 = Gpus(8, 1, GpuGeneration::kVolta, 12, 10e9);
  EXPECT_NEAR(NcclSeconds(kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kLl, 1 << 18, dgx1) * 1e6,
              15.2 + (1 << 18) / (110.4e9 / 3.8 / 2 * 0.4) * 1e6, 1e-6);
  const NcclTopology two = Gpus(16, 2, GpuGeneration::kVolta, 12, 1e9);
  EXPECT_NEAR(NcclSeconds(kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple, 1 << 20, two) * 1e6,
              1.9 * (8.4 + 28 * 3.4 + 2 * 14) + (1 << 20) / (12e9 * 16 / 30) * 1e6, 1e-6);
}

}  // namespace
}  // namespace partita
