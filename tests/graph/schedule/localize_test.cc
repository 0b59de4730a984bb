#include "graph/schedule/localize.h"

#include <gtest/gtest.h>

#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

const Mesh kMesh{{{"data", 4}}};
const AxisLayout kSplit = AxisLayout::Split(0);

TEST(Localize, BlocksOfTenOverFourAreThreeThreeTwoTwo) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {10, 2}, {kSplit});
  const int64_t sizes[] = {3, 3, 2, 2};
  const int64_t offsets[] = {0, 3, 6, 8};
  for (int rank = 0; rank < 4; ++rank) {
    const LocalGraph local = Localize(graph.graph, rank);
    ASSERT_TRUE(local.values[x].has_value());
    EXPECT_EQ(local.values[x]->box, (Box{{offsets[rank], 0}, {sizes[rank], 2}}));
    EXPECT_EQ(local.values[x]->bytes(), sizes[rank] * 8);
    EXPECT_EQ(local.values[x]->global, (Shape{10, 2}));
  }
}

TEST(Localize, RankWithoutSamplesHoldsAnEmptyBlockAndStillMakesPartialSums) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {2, 3}, {kSplit});
  graph.Op("combine", "y", {x}, {2, 3}, {kSplit});
  graph.Op("combine", "sum", {x}, {3}, {AxisLayout::Partial()});
  const LocalGraph local = Localize(graph.graph, 3);
  EXPECT_FALSE(local.Holds(x));
  EXPECT_FALSE(Runs(local, graph.graph.node(1)));
  EXPECT_TRUE(Runs(local, graph.graph.node(2)));
  const absl::StatusOr<LocalNode> sum = MakeLocalNode(graph.graph, local, 2);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->inputs[0]->elements(), 0);
  EXPECT_EQ(sum->outputs[0].elements(), 3);
}

TEST(Localize, ValueAtAnotherRankIsNotHeld) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {2}, {AxisLayout::At(1)});
  graph.Op("combine", "y", {x}, {2}, {AxisLayout::At(1)});
  EXPECT_FALSE(Localize(graph.graph, 0).values[x].has_value());
  EXPECT_FALSE(Runs(Localize(graph.graph, 0), graph.graph.node(1)));
  EXPECT_TRUE(Runs(Localize(graph.graph, 1), graph.graph.node(1)));
}

TEST(Localize, NodeWhoseInputLiesElsewhereIsRefusedByName) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {2}, {AxisLayout::At(1)});
  graph.Op("combine", "y", {x}, {2}, {AxisLayout::Replicate()});
  const absl::Status status = MakeLocalNode(graph.graph, Localize(graph.graph, 0), 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("'y' (combine)"), std::string::npos) << status;
  EXPECT_NE(std::string(status.message()).find("'x' {data:At1}"), std::string::npos) << status;
}

TEST(Localize, ANodeOfAMicroBatchStaysOne) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {2});
  graph.Op("combine", "y", {x}, {2});
  Node of_second = graph.graph.node(1);
  of_second.micro_batch = 1;
  of_second.outputs.clear();
  const NodeId second = graph.graph.AddNode(std::move(of_second), {{"z", graph.graph.type(x), graph.graph.layout(x)}});
  const LocalGraph local = Localize(graph.graph, 0);
  EXPECT_EQ(MakeLocalNode(graph.graph, local, 1).value().micro_batch, -1);
  EXPECT_EQ(MakeLocalNode(graph.graph, local, second).value().micro_batch, 1);
}

TEST(Localize, AbsentInputStaysAbsent) {
  TestGraph graph(kMesh);
  const ValueId x = graph.Input("x", {2});
  graph.Op("combine", "y", {x, kNoValue}, {2});
  const absl::StatusOr<LocalNode> node = MakeLocalNode(graph.graph, Localize(graph.graph, 0), 1);
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->inputs[0].has_value());
  EXPECT_FALSE(node->inputs[1].has_value());
}

}  // namespace
}  // namespace partita
