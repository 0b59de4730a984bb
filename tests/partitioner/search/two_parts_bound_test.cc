// That forward and backward, each at its best, bound what both take together.
#include "partitioner/search/placement/two_parts_bound.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/partitioner/search/brute_force_placement.h"

namespace partita {
namespace {

double Best(const PlacementGraph& graph) { return BestEndOfAll(graph, 2, std::numeric_limits<double>::infinity()); }

// The ops from `begin` to `end`, and the edges between them.
PlacementGraph Part(const PlacementGraph& graph, int begin, int end) {
  PlacementGraph part;
  part.ops.assign(graph.ops.begin() + begin, graph.ops.begin() + end);
  for (PlacedOp& op : part.ops) op.together = -1;
  for (PlacedEdge edge : graph.edges) {
    if (edge.from < begin || edge.to >= end) continue;
    edge.from -= begin;
    edge.to -= begin;
    part.edges.push_back(edge);
  }
  return part;
}

TEST(TwoPartsBound, IsNeverAboveTheBestOfRandomGraphs) {
  std::mt19937 random(21);
  int exact = 0, sum_is_wrong = 0;
  for (int i = 0; i < 1000; ++i) {
    const PlacementGraph graph = RandomPlacementGraph(random, i % 2 == 1);
    const auto ops = static_cast<int>(graph.ops.size());
    const int first_ops = 1 + static_cast<int>(random() % static_cast<unsigned>(ops - 1));
    const double first = Best(Part(graph, 0, first_ops)), second = Best(Part(graph, first_ops, ops));
    const double best = Best(graph), bound = TwoPartsBound(graph, first_ops, first, second);
    EXPECT_LE(bound, best) << i;
    exact += bound == best ? 1 : 0;
    sum_is_wrong += first + second > best ? 1 : 0;
  }
  EXPECT_GT(exact, 100);
  EXPECT_GT(sum_is_wrong, 100) << "the parts overlap in enough of these graphs";
}

// Forward ops of 2 and 1, whose backward ops of 4 and 2 read no other's: they take 6 on two devices.
TEST(TwoPartsBound, LossesOfTheirOwnOverlap) {
  const PlacementGraph graph = GraphOf({2, 1, 2, 4}, {{0, 1, 0}, {1, 2, 0}, {0, 3, 0}});
  EXPECT_EQ(Best(graph), 6);
  EXPECT_EQ(TwoPartsBound(graph, 2, 3, 4), 2 + 4);
}

// A, loss, accuracy, and the loss's and A's backward ops.
TEST(TwoPartsBound, MetricsRunBesideTheBackwardPart) {
  const PlacementGraph graph = GraphOf({1, 1, 10, 1, 1}, {{0, 1, 0}, {0, 2, 0}, {1, 3, 0}, {3, 4, 0}, {0, 4, 0}});
  EXPECT_EQ(Best(graph), 11);
  EXPECT_EQ(Best(Part(graph, 0, 3)), 11);
  EXPECT_EQ(TwoPartsBound(graph, 3, 11, 2), 1 + 2) << "the bound of the first part has the accuracy in it";
  EXPECT_EQ(TwoPartsBound(GraphOf({1, 2}, {}), 2, 3, 0), 3) << "there is no second part";
}

}  // namespace
}  // namespace partita
