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

TEST(DataModelStrategy, GroupsShareOnlyWhatTheySplitByChannels) {
  const absl::StatusOr<Strategy> strategy =
      DataModelStrategy(TwoLayers().graph, 2, 2, {LayerSplit::kSamples, LayerSplit::kSamples});
  ASSERT_TRUE(strategy.ok());
  const absl::StatusOr<Graph> graph = TrainTwoLayers(*strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(LayoutOf(*graph, "h"), "{data:S0 model:S0}");
  EXPECT_EQ(LayoutOf(*graph, "w"), "{data:R model:R}");
}

// The paper's form: gathered before relu, and the gradient of the next layer's input is an all_reduce.
TEST(DataModelStrategy, InputGradientsInBothForms) {
  DataModelOptions options;
  const auto moves_of = [&](InputGradients form) {
    options.input_gradients = form;
    std::string moves;
    const absl::StatusOr<Graph> graph = TrainTwoLayers(*DataModelStrategy(TwoLayers().graph, 1, 3, options));
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return moves;
    for (const Node& node : graph->nodes()) {
      if (node.op->move && node.op->name != "slice_move") moves += graph->value(node.outputs[0]).name + " ";
    }
    return moves;
  };
  EXPECT_EQ(moves_of(InputGradients::kAllReduce), "h@all_gather z@all_gather a@d@all_reduce ");
  EXPECT_EQ(moves_of(InputGradients::kReduceScatter), "a@all_gather z@all_gather a@all_gather@d@reduce_scatter ");
}

TEST(DataModelStrategy, DenseLayersHaveNoRows) {
  EXPECT_FALSE(DataModelStrategy(TwoLayers().graph, 1, 2, {LayerSplit::kRows, LayerSplit::kRows}).ok());
}

TEST(DataModelStrategy, FewerThanOneRankIsRefused) {
  EXPECT_FALSE(DataModelStrategy(TwoLayers().graph, 0, 1).ok());
  EXPECT_FALSE(DataModelStrategy(TwoLayers().graph, 1, -2).ok());
}

}  // namespace
}  // namespace partita
