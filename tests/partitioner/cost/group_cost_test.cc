// Groups over the levels of a cluster.
#include "partitioner/cost/group_cost.h"

#include <gtest/gtest.h>

#include "partitioner/cluster/cluster_description.h"

namespace partita {
namespace {

// Two nodes of four devices: 1 us and 4 GB/s within a node; 10 us and 1 GB/s, which the node has in all, to the other.
Cluster TwoNodes(BackendKind backend) {
  DeviceKind kind{"d", backend, 1 << 30, 1e9, {{DType::kF32, 1e12}}};
  kind.compute_capability = backend == BackendKind::kCuda ? 80 : 0;
  const Link inside{Fabric::kNvlink, 4e9, 1e-6, 1}, outside{Fabric::kNetwork, 1e9, 10e-6, 1};
  const Link up{Fabric::kNetwork, 1e9, 0, 1};
  const auto cluster =
      MakeCluster({"toy", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", 2, "d", 4, inside, up}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

const std::vector<std::vector<int>> kAll = {{0, 1, 2, 3, 4, 5, 6, 7}};
const std::vector<std::vector<int>> kNodes = {{0, 1, 2, 3}, {4, 5, 6, 7}};
const std::vector<std::vector<int>> kAcross = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};

TEST(GroupCost, LevelsOfGroups) {
  const Cluster cluster = TwoNodes(BackendKind::kHost);
  const std::vector<GroupLevel> all = LevelsOf(cluster, kAll, 0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].members, 4);
  EXPECT_EQ(all[0].link.bytes_per_second, 4e9);
  EXPECT_EQ(all[1].members, 2);
  EXPECT_EQ(all[1].link.bytes_per_second, 1e9);
  EXPECT_EQ(all[1].link.fabric, Fabric::kNetwork);
  EXPECT_EQ(LevelsOf(cluster, kNodes, 1).size(), 1u);
  EXPECT_TRUE(LevelsOf(cluster, {{3}}, 0).empty());
}

TEST(GroupCost, GroupsAtTheSameTimeShareTheWayOut) {
  const Cluster cluster = TwoNodes(BackendKind::kHost);
  EXPECT_EQ(LevelsOf(cluster, {{0, 4}}, 0)[0].link.bytes_per_second, 1e9);
  EXPECT_EQ(LevelsOf(cluster, kAcross, 2)[0].link.bytes_per_second, 0.25e9);
  EXPECT_EQ(LevelsOf(cluster, {{0, 4}, {1, 2}}, 0)[0].link.bytes_per_second, 1e9) << "{1,2} stays inside";
}

// 8,000 bytes: within a node 6 (1 + 0.5) us; level by level 2 (10 + 4) us more. One ring of eight is 14 (10 + 1) us.
TEST(GroupCost, LevelByLevelToTheMicrosecond) {
  const std::vector<GroupLevel> levels = LevelsOf(TwoNodes(BackendKind::kHost), kAll, 0);
  EXPECT_DOUBLE_EQ(LevelSeconds(CollectiveKind::kAllReduce, CollectiveForm::kRing, 8000, levels) * 1e6, 9 + 28);
  EXPECT_DOUBLE_EQ(LevelSeconds(CollectiveKind::kAllGather, CollectiveForm::kRing, 8000, levels) * 1e6, 4.5 + 14);
  EXPECT_DOUBLE_EQ(LevelSeconds(CollectiveKind::kBroadcast, CollectiveForm::kRing, 8000, levels) * 1e6, 3 + 2 + 10 + 8);
}

// What a node sends out of an all_to_all is that of its four devices.
TEST(GroupCost, AnAllToAllSharesNothing) {
  const std::vector<GroupLevel> levels = LevelsOf(TwoNodes(BackendKind::kHost), kAll, 0);
  EXPECT_DOUBLE_EQ(LevelSeconds(CollectiveKind::kAllToAll, CollectiveForm::kRing, 8000, levels) * 1e6,
                   (3 + 1.5) + (10 + 16));
}

TEST(GroupCost, OnGpusAsNcclSays) {
  const Cluster cluster = TwoNodes(BackendKind::kCuda);
  const NcclTopology topology = NcclTopologyOf(LevelsOf(cluster, kAll, 0), cluster.kinds[0]);
  EXPECT_EQ(topology.ranks, 8);
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_TRUE(topology.nvlink);
  EXPECT_EQ(topology.within_bandwidth, 1e9);
  EXPECT_EQ(GroupSeconds(cluster, CollectiveKind::kAllReduce, 1 << 20, kAll, 0),
            CheapestNccl(CollectiveKind::kAllReduce, 1 << 20, topology).seconds);
  EXPECT_EQ(GroupSeconds(cluster, CollectiveKind::kAllReduce, 1 << 20, {{5}}, 0), 0);
}

TEST(GroupCost, OnTheHostTheQuickestForm) {
  const Cluster cluster = TwoNodes(BackendKind::kHost);
  EXPECT_DOUBLE_EQ(GroupSeconds(cluster, CollectiveKind::kAllReduce, 8000, kNodes, 0) * 1e6, 4 + 3) << "halving";
}

}  // namespace
}  // namespace partita
