#include "partitioner/data_model_strategy.h"

#include <gtest/gtest.h>

#include "tests/graph/two_layers.h"

namespace partita {
namespace {

TEST(DataModelStrategy, DataTimesModelByFlags) {
  const absl::StatusOr<Strategy> strategy = DataModelStrategy(TwoLayers().graph, 2, 4);
  ASSERT_TRUE(strategy.ok());
  const absl::StatusOr<Graph> graph = TrainTwoLayers(*strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(LayoutOf(*graph, "h"), "{data:S0 model:S1}");
  EXPECT_EQ(LayoutOf(*graph, "z"), "{data:S0 model:R}") << "3 channels are fewer than 4 ranks";
}

TEST(DataModelStrategy, OneRankMovesNothing) {
  const absl::StatusOr<Strategy> strategy = DataModelStrategy(TwoLayers().graph, 1, 1);
  ASSERT_TRUE(strategy.ok());
  const absl::StatusOr<Graph> graph = TrainTwoLayers(*strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Node& node : graph->nodes()) EXPECT_FALSE(node.op->move) << graph->value(node.outputs[0]).name;
}

TEST(DataModelStrategy, FewerThanOneRankIsRefused) {
  EXPECT_FALSE(DataModelStrategy(TwoLayers().graph, 0, 1).ok());
  EXPECT_FALSE(DataModelStrategy(TwoLayers().graph, 1, -2).ok());
}

}  // namespace
}  // namespace partita
