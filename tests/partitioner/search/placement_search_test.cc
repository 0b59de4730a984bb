#include "partitioner/search/placement_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/heft.h"
#include "partitioner/search/placement/placement_blocks.h"
#include "tests/partitioner/search/brute_force_placement.h"

namespace partita {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

void ExpectEqualsBruteForce(bool limited) {
  std::mt19937 random(limited ? 12 : 11);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const PlacementGraph graph = RandomPlacementGraph(random, i % 2 == 1);
    const int devices = i % 10 == 0 ? 3 : 2;
    const double bytes = limited ? static_cast<double>(3 + random() % 6) : kAll;
    const double best = BestEndOfAll(graph, devices, bytes);
    const auto answer = PlacementSearch(graph, {devices, bytes});
    ASSERT_EQ(answer.ok(), best < kAll) << i << ": " << answer.status();
    if (!answer.ok() && ++refused) continue;
    EXPECT_EQ(answer->seconds, best) << i;
    EXPECT_EQ(answer->lower_bound, best) << i;
    EXPECT_EQ(ReplayedEnd(graph, answer->plan), best) << i;
    EXPECT_LE(answer->bytes, bytes);
    EXPECT_TRUE(KeepsTogether(graph, answer->plan.device));
  }
  EXPECT_EQ(refused > 0, limited);
  EXPECT_LT(refused, 400);
}

TEST(PlacementSearch, EqualsBruteForceOnRandomGraphs) { ExpectEqualsBruteForce(false); }

TEST(PlacementSearch, EqualsBruteForceUnderALimitOfMemory) { ExpectEqualsBruteForce(true); }

double Seconds(const PlacementGraph& graph, double bytes = kAll) {
  const auto answer = PlacementSearch(graph, {2, bytes});
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Gap(), 0);
  return answer->seconds;
}

PlacementGraph Diamond(double transfer) {
  PlacementGraph graph =
      GraphOf({2, 4, 4, 2}, {{0, 1, transfer}, {0, 2, transfer}, {1, 3, transfer}, {2, 3, transfer}});
  for (const int op : {1, 2}) graph.ops[op].bytes = 3;
  return graph;
}

TEST(PlacementSearch, ValuesThatSeveralReadAreSentOnce) {
  PlacementGraph graph = GraphOf({1, 4, 2, 2}, {{0, 1, 3, 7}, {0, 2, 3, 7}, {0, 3, 3, 7}});
  for (PlacedEdge& edge : graph.edges) edge.seconds = 1;
  EXPECT_EQ(Seconds(graph), 6) << "op2 and op3 begin at 2";
  for (PlacedEdge& edge : graph.edges) edge.value = -1;
  EXPECT_EQ(Seconds(graph), 6);
  const auto sends = [&](int value) {
    for (PlacedEdge& edge : graph.edges) edge.value = value;
    return ActivitiesOf(graph, {0, 0, 1, 1}, 2).all.size() - graph.ops.size();
  };
  EXPECT_EQ(sends(-1), 2U);
  EXPECT_EQ(sends(7), 1U);
}

TEST(PlacementSearch, Diamond) {
  EXPECT_EQ(SerialSeconds(Diamond(1)), 12);
  EXPECT_EQ(Seconds(Diamond(1)), 9);
  EXPECT_EQ(Seconds(Diamond(3)), 11);
  EXPECT_EQ(Seconds(Diamond(1), 4), 9);
  PlacementGraph graph = Diamond(1);
  graph.ops[0].together = graph.ops[3].together = 5;
  EXPECT_EQ(Seconds(graph), 10);
  EXPECT_EQ(PlacementSearch(Diamond(1), {2, 3.5}).status().message(),
            "there is no placement of 4 ops of together 8 bytes on 2 devices of 3.5 each");
}

PlacementGraph Inception(double transfer) {
  PlacementGraph graph = GraphOf({1, 3, 5, 6, 2, 1}, {});
  for (const int branch : {1, 2, 3, 4}) {
    graph.edges.push_back({0, branch, transfer});
    graph.edges.push_back({branch, 5, transfer});
  }
  return graph;
}

TEST(PlacementSearch, FourBranches) {
  EXPECT_EQ(Seconds(Inception(0)), 10);
  EXPECT_EQ(Seconds(Inception(1)), 11);
}

// Six blocks of four branches, each of two ops, between joints: 60 ops.
PlacementGraph Blocks() {
  PlacementGraph graph = GraphOf({1}, {});
  for (int block = 0; block < 6; ++block) {
    const int joint = static_cast<int>(graph.ops.size()) - 1;
    for (int branch = 0; branch < 4; ++branch) {
      const int op = static_cast<int>(graph.ops.size());
      for (const double seconds : {2.0 + branch, 3.0 - 0.5 * branch}) graph.ops.push_back({"branch", seconds, 1, -1});
      graph.edges.push_back({joint, op, 0.5});
      graph.edges.push_back({op, op + 1, 0.5});
    }
    graph.ops.push_back({"joint", 1, 1, -1});
    for (int branch = 0; branch < 4; ++branch) graph.edges.push_back({joint + 2 * branch + 2, joint + 9, 0.5});
  }
  return graph;
}

TEST(PlacementSearch, BlocksAreSummed) {
  const PlacementGraph graph = Blocks();
  EXPECT_EQ(PlacementBlocks(graph).size(), 6);
  const auto answer = PlacementSearch(graph, {2, kAll});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Gap(), 0) << "proven";
  EXPECT_EQ(ReplayedEnd(graph, answer->plan), answer->seconds);
  const auto one = PlacementSearch(PartOf(graph, PlacementBlocks(graph)[0]), {2, kAll});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(answer->seconds, 6 * (one->seconds - 1) + 1);
  ASSERT_FALSE(answer->rejected.empty());
  EXPECT_GE(answer->rejected[0].seconds, answer->seconds);
}

TEST(PlacementSearch, TellsTheGapWhereItCannotProve) {
  const PlacementGraph graph = Blocks();
  const auto heft = HeftDevices(graph, 3, kAll);
  ASSERT_TRUE(heft.has_value());
  const auto answer = PlacementSearch(graph, {3, kAll, 20});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GT(answer->Gap(), 0);
  EXPECT_LE(answer->lower_bound, PlacementSearch(graph, {3, kAll})->seconds);
  EXPECT_LE(answer->seconds, ListOrder(ActivitiesOf(graph, *heft, 3)).end);
}

TEST(PlacementBlocks, NoBorderWhereATransferPassesBy) {
  const std::vector<PlacedEdge> chain = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  EXPECT_EQ(PlacementBlocks(GraphOf({1, 1, 1, 1}, chain)).size(), 3);
  std::vector<PlacedEdge> past = chain;
  past.push_back({0, 2, 1});
  EXPECT_EQ(PlacementBlocks(GraphOf({1, 1, 1, 1}, past)).size(), 2);
  PlacementGraph together = GraphOf({1, 1, 1, 1}, chain);
  together.ops[1].together = together.ops[3].together = 0;
  EXPECT_EQ(PlacementBlocks(together).size(), 2);
}

TEST(PlacementSearch, RefusesWhatIsNoGraph) {
  EXPECT_EQ(PlacementSearch(GraphOf({1, 1}, {{1, 0, 1}}), {2, kAll}).status().message(),
            "an edge goes from op 1 to op 0: of 2 ops each stands after those that it reads");
  EXPECT_EQ(PlacementSearch(GraphOf({1, -1}, {}), {2, kAll}).status().message(),
            "op 'op1' takes -1 seconds and 1 bytes: both are finite and not below zero");
  EXPECT_EQ(PlacementSearch(GraphOf({1}, {}), {0, kAll}).status().message(),
            "1 ops on 0 devices: at least one of both is needed");
}

}  // namespace
}  // namespace partita
