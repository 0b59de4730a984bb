#include "partitioner/data_model_strategy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "tests/graph/two_layers.h"
#include "tests/testing/assert_ok.h"

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

// What is said of nodes over `model`.
std::map<std::string, std::string> SplitsOverModel(const Strategy& strategy) {
  std::map<std::string, std::string> splits;
  for (const OpConfig& op : strategy.ops) {
    if (op.axes.contains("model")) splits[op.pattern] = op.axes.at("model").split;
  }
  return splits;
}

// Channels become heads and heads channels where every rank has whole ones; else they are gathered before.
TEST(DataModelStrategy, ReshapesKeepChannelsOfWholeHeads) {
  GraphBuilder b(Ops());
  const auto heads = [&](const std::string& name, ValueId x) {
    return b.Add(name + "/heads", "reshape", {b.Dense(name, x, 24)}, {{"shape", IntList{-1, 5, 6, 4}}});
  };
  const ValueId x = b.Input("x", DType::kF32, {2, 5, 7});
  const ValueId read = b.Add("read", "scaled_dot_product_attention",
                             {heads("query", x), heads("keys", x), heads("values", x), kNoValue});
  const ValueId joined = b.Add("joined", "reshape", {read}, {{"shape", IntList{-1, 5, 24}}});
  const absl::StatusOr<Graph> graph = b.Build(b.Add("loss", "sum", {b.Dense("output", joined, 24)}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& [model, whole] : {std::pair{3, true}, {4, true}, {6, true}, {8, false}}) {
    const absl::StatusOr<Strategy> strategy = DataModelStrategy(*graph, 1, model);
    ASSERT_TRUE(strategy.ok());
    std::map<std::string, std::string> splits = SplitsOverModel(*strategy);
    EXPECT_EQ(splits["query/heads"], whole ? "channels" : "replicate") << model;
    EXPECT_EQ(splits["joined"], whole ? "width" : "replicate") << model;
  }
}

// Scores of heads [n,h,t,t], and softmax behind them; with fewer heads than ranks all of it is left to follow.
TEST(DataModelStrategy, ProductsOfActivationsAreSplitByTheirHeads) {
  for (const int64_t heads : {4, 3}) {
    GraphBuilder b(Ops());
    const ValueId q = b.Input("q", DType::kF32, {2, heads, 5, 6}), k = b.Input("k", DType::kF32, {2, heads, 5, 6});
    const ValueId scores = b.Add("scores", "batch_matmul", {q, k}, {{"transpose_y", true}});
    const ValueId shares = b.Add("shares", "softmax", {b.Add("scaled", "scale", {scores}, {{"factor", 0.4}})});
    const absl::StatusOr<Graph> graph = b.Build(b.Add("loss", "sum", {b.Add("context", "batch_matmul", {shares, k})}));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::StatusOr<Strategy> strategy = DataModelStrategy(*graph, 1, 4);
    ASSERT_TRUE(strategy.ok());
    std::map<std::string, std::string> by_heads;
    for (const char* const node : {"scores", "scaled", "shares", "context"}) {
      if (heads >= 4) by_heads[node] = "height";
    }
    EXPECT_EQ(SplitsOverModel(*strategy), by_heads);
  }
}

// Behind a layer split by channels, a depthwise convolution and its batch norm keep the split and gather nothing. With
// fewer groups than ranks it is whole, as a layer of few channels is.
TEST(DataModelStrategy, GroupsOfConvolutionsStayWhereTheirChannelsAre) {
  for (const auto& [groups, layout] :
       {std::pair<int64_t, const char*>{6, "{data:S0 model:S3}"}, {2, "{data:S0 model:R}"}}) {
    GraphBuilder b(Ops());
    ValueId x = b.Input("x", DType::kF32, {4, 5, 5, 2});
    x = b.Conv2d("expand", x, {.channels = 6, .kernel = 1});
    x = b.BatchNorm("norm", b.Conv2d("grouped", x, {.channels = 12, .kernel = 3, .groups = groups}));
    const ValueId loss = b.Add("loss", "sum", {b.Relu("end", x)});
    Model model;
    ASSERT_OK_AND_ASSIGN(model.graph, b.Build(loss));
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 3));
    ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, strategy, Ops(), {.verify_passes = true}));
    const Graph& graph = program.graph(kTrainEntry);
    for (const char* value : {"grouped", "end"}) EXPECT_EQ(LayoutOf(graph, value), layout) << value;
    EXPECT_EQ(graph.Find("expand@all_gather") != kNoValue, groups == 2);
  }
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
