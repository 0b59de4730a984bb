// The tables of small graphs against numbers that are reckoned by hand.
#include <gtest/gtest.h>

#include <random>

#include "ops/registry.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/tables/edge_blocks.h"
#include "partitioner/tables/edge_seconds.h"
#include "partitioner/tables/layer_tables.h"
#include "partitioner/tables/stage_tables.h"
#include "tests/graph/two_layers.h"
#include "tests/partitioner/hosts.h"

namespace partita {
namespace {

// 1 MFLOP/s, so that a flop takes a microsecond; bytes of memory take nothing; 3 us a launch. Messages: 10 us, 1 MB/s.
Cluster Toy(int devices) {
  DeviceKind kind{"d", BackendKind::kHost, 1 << 30, 1e15, {{DType::kF32, 1e6}}};
  kind.launch_seconds = 3e-6;
  return HostOf(kind, devices, {Fabric::kMemory, 1e6, 10e-6, 1});
}

class TwoLayersOnToy : public testing::Test {
 protected:
  const OpLayer& LayerOf(const std::string& name) const { return layers_.layers[layers_.layer_of_name.at(name)]; }

  const KernelTimes times_;
  const Cluster cluster_ = Toy(4);
  const CostBasis basis_{Ops(), cluster_, times_, 3};
  const LayerGraph layers_ = *FindLayers(TwoLayers().graph, Ops());
};

TEST(Choice, IsOneForEachDegrees) {
  const Mesh mesh = PrimeMesh(64);
  // Powers of two with a product of at most 64: n, h, w, c without a summed dimension, and n, c, k with one.
  EXPECT_EQ(AllChoices(mesh).size(), 210U + 56U);
  EXPECT_EQ(PrimeMesh(12).ToString(), "a0:3 a1:2 a2:2");
  EXPECT_EQ(AllChoices(PrimeMesh(6)).size(), 36U);
  EXPECT_EQ(ToString(AllChoices(PrimeMesh(6))[1], PrimeMesh(6)), "n3 h2");
}

TEST(Choice, SamplesLieOutsideChannelsInside) {
  const Mesh mesh = PrimeMesh(8);
  for (const Choice& choice : AllChoices(mesh)) {
    if (ToString(choice, mesh) != "n2 c2") continue;
    EXPECT_EQ(choice, (Choice{Cut::kSamples, Cut::kWhole, Cut::kChannels}));
  }
}

TEST(Choice, AxesThatAllLayersSplitAlikeAreOne) {
  Mesh mesh = PrimeMesh(12);
  std::vector<Choice> choices = {{Cut::kSamples, Cut::kChannels, Cut::kChannels},
                                 {Cut::kWhole, Cut::kSummed, Cut::kSummed}};
  JoinAxes(mesh, choices);
  EXPECT_EQ(mesh.ToString(), "a0:3 a1:4");
  EXPECT_EQ(choices, (std::vector<Choice>{{Cut::kSamples, Cut::kChannels}, {Cut::kWhole, Cut::kSummed}}));
}

TEST_F(TwoLayersOnToy, LayersAreOpsWithWhatFollowsThem) {
  std::vector<std::string> names;
  for (const OpLayer& layer : layers_.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "t", "h", "z", "l"}));
  EXPECT_EQ(LayerOf("a").name, "h");
  EXPECT_EQ(layers_.edges.size(), 4U);
}

// z [8,3] = a [8,5] v: 2 * 8 * 5 * 3 flops each way.
TEST_F(TwoLayersOnToy, CostOfALayer) {
  LayerCosts costs(layers_, PrimeMesh(2), basis_);
  const auto whole = costs.Of(LayerOf("z"), {Cut::kFirst});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_NEAR(whole->forward * 1e6, 3 + 240, 1e-3);
  EXPECT_NEAR(whole->backward * 1e6, 2 * (3 + 240), 1e-3);
  EXPECT_EQ(whole->synchronization, 0);
  EXPECT_EQ(whole->weight_bytes, 3 * 4 * 15);
  EXPECT_EQ(whole->activation_bytes, 4 * 24);
  const auto samples = costs.Of(LayerOf("z"), {Cut::kSamples});
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_NEAR(samples->forward * 1e6, 3 + 120, 1e-3);
  const auto sum_of = [&](double bytes) {
    return GroupSeconds(cluster_, CollectiveKind::kAllReduce, bytes, {{0, 1}}, 0);
  };
  EXPECT_NEAR(samples->synchronization, sum_of(60) - sum_of(1), 1e-12) << "its gradient travels with others";
  const auto channels = costs.Of(LayerOf("z"), {Cut::kChannels});  // 2 of 3 on the first rank
  ASSERT_TRUE(channels.ok()) << channels.status();
  EXPECT_NEAR(channels->forward * 1e6, 3 + 160, 1e-3);
  EXPECT_EQ(channels->synchronization, 0) << "of its channels a rank has all of the gradient";
  EXPECT_EQ(channels->weight_bytes, 3 * 4 * 10);
  EXPECT_FALSE(costs.Of(LayerOf("z"), {Cut::kHeight}).ok());
  EXPECT_NEAR(channels->update * 1e6, 3, 1e-3) << "a launch";
}

// z = a v with 3 of the 5 columns of a and rows of v on the first rank: z is a sum, and no gradient is.
TEST_F(TwoLayersOnToy, ASummedDimensionMakesASum) {
  LayerCosts costs(layers_, PrimeMesh(2), basis_);
  const auto summed = costs.Of(LayerOf("z"), {Cut::kSummed});
  ASSERT_TRUE(summed.ok()) << summed.status();
  EXPECT_NEAR(summed->forward * 1e6, 3 + 144, 1e-3);
  EXPECT_NEAR(summed->backward * 1e6, 2 * (3 + 144), 1e-3);
  EXPECT_EQ(summed->synchronization, 0);
  EXPECT_EQ(summed->weight_bytes, 3 * 4 * 9);
  EXPECT_TRUE(summed->makes[0][0].partial());
  EXPECT_EQ(summed->reads[0][0], AxisLayout::Split(1));
  // h is summed before relu, which both ranks compute whole.
  const auto with_relu = costs.Of(LayerOf("h"), {Cut::kSummed});
  ASSERT_TRUE(with_relu.ok()) << with_relu.status();
  EXPECT_TRUE(with_relu->makes[0][0].replicated());
  // The loss is in pieces, which all-reduce a maximum and a sum of each row.
  const auto of_classes = costs.Of(LayerOf("l"), {Cut::kSummed});
  ASSERT_TRUE(of_classes.ok()) << of_classes.status();
  EXPECT_EQ(of_classes->reads[0][0], AxisLayout::Split(1));
  EXPECT_EQ(of_classes->forward_launches, 3);
}

// Megatron's pair: column then row, with nothing to move between them.
TEST_F(TwoLayersOnToy, ChannelsThenASummedDimensionMoveNothing) {
  LayerCosts costs(layers_, PrimeMesh(4), basis_);
  const auto tables = MakeLayerTables(costs);
  ASSERT_TRUE(tables.ok()) << tables.status();
  const auto at = [&](int op, const std::string& name) {
    const std::vector<std::string>& names = tables->tables.ops[op].configs;
    return std::ranges::find(names, name) - names.begin();
  };
  const EdgeTable& edge = tables->tables.edges[1];
  ASSERT_EQ(std::pair(edge.from, edge.to), std::pair(2, 3));
  const auto seconds = [&](const char* from, const char* to) {
    return (*edge.seconds)[at(2, from) * tables->tables.configs(3) + at(3, to)];
  };
  EXPECT_EQ(seconds("c4", "k4"), 0);
  EXPECT_EQ(seconds("n2 c2", "n2 k2"), 0);
  EXPECT_GT(seconds("n4", "k4"), 0);
}

// The adjoint of what is whole on every rank computes in parts: 3 of the 5 columns of da and 2 of the 3 of dv.
TEST_F(TwoLayersOnToy, WhatIsWholeGathersItsGradients) {
  LayerCosts costs(layers_, PrimeMesh(2), basis_);
  const auto whole = costs.Of(LayerOf("z"), {Cut::kWhole});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_NEAR(whole->forward * 1e6, 3 + 240, 1e-3);
  const double gathered = (10 + 160 / 2.0) + (10 + 60 / 2.0);
  EXPECT_NEAR(whole->backward * 1e6, (3 + 144) + (3 + 160) + gathered, 1e-3);
  EXPECT_EQ(whole->synchronization, 0) << "nothing is summed";
}

// [8,4] in f32: 128 bytes.
TEST(EdgeSeconds, ByRegions) {
  const Mesh mesh = PrimeMesh(2);
  const Cluster cluster = Toy(2);
  MoveSeconds moves(mesh, cluster);
  const auto samples = AxisLayout::Split(0), channels = AxisLayout::Split(1), whole = AxisLayout::Replicate();
  const auto microseconds = [&](const AxisLayout& from, const AxisLayout& to, Cut cut, bool back) {
    return 1e6 * EdgeSeconds({DType::kF32, {8, 4}}, {{{from}, {}}}, {{{to}, {cut}}}, back, mesh, moves)[0];
  };
  EXPECT_EQ(microseconds(samples, samples, Cut::kSamples, true), 0);
  EXPECT_NEAR(microseconds(samples, channels, Cut::kChannels, false), 10 + 32, 1e-6) << "half of 64 bytes is there";
  EXPECT_NEAR(microseconds(samples, channels, Cut::kChannels, true), 2 * (10 + 32), 1e-6);
  EXPECT_NEAR(microseconds(samples, whole, Cut::kChannels, true), 2 * (10 + 64), 1e-6) << "gathered, and summed back";
  EXPECT_NEAR(microseconds(samples, whole, Cut::kWhole, true), 10 + 64, 1e-6) << "each has all of the gradient";
  EXPECT_NEAR(microseconds(whole, samples, Cut::kSamples, true), 10 + 64, 1e-6) << "back each gets the other's half";
  EXPECT_NEAR(microseconds(AxisLayout::Partial(), samples, Cut::kSamples, true), 2 * (10 + 64), 1e-6)
      << "summed into parts, gathered back";
  EXPECT_NEAR(microseconds(whole, whole, Cut::kChannels, true),
              1e6 * GroupSeconds(cluster, CollectiveKind::kAllReduce, 128, {{0, 1}}, 0), 1e-6);
}

// Over four ranks: what becomes whole is one collective, what becomes other parts messages.
TEST(EdgeSeconds, ByCollectives) {
  const Mesh mesh = PrimeMesh(4);
  const Cluster cluster = Toy(4);
  MoveSeconds moves(mesh, cluster);
  const auto part = AxisLayout::Split(0), other = AxisLayout::Split(1), whole = AxisLayout::Replicate();
  const auto seconds = [&](const Layout& from, const Layout& to, bool back) {
    return EdgeSeconds({DType::kF32, {8, 4}}, {{from, {}}}, {{to, {Cut::kChannels, Cut::kChannels}}}, back, mesh,
                       moves)[0];
  };
  const auto collective = [&](CollectiveKind kind, double bytes, const std::vector<std::vector<int>>& groups) {
    return GroupSeconds(cluster, kind, bytes, groups, 0);
  };
  const double gather = collective(CollectiveKind::kAllGather, 128, {{0, 1, 2, 3}});
  const double scatter = collective(CollectiveKind::kReduceScatter, 128, {{0, 1, 2, 3}});
  EXPECT_NEAR(seconds({part, part}, {whole, whole}, false), gather, 1e-12);
  EXPECT_NEAR(seconds({part, part}, {whole, whole}, true), gather + scatter, 1e-12);
  EXPECT_NEAR(seconds({part, part}, {part, whole}, false), collective(CollectiveKind::kAllGather, 64, {{0, 1}, {2, 3}}),
              1e-12);
  EXPECT_NEAR(1e6 * seconds({part, part}, {other, other}, false), 10 + 32 - 8, 1e-6)
      << "a quarter of 32 bytes is there";
}

// Of the rank that misses the most, by its boxes.
MissingElements MissingOfBoxes(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  MissingElements missing;
  for (const int rank : mesh.Ranks()) {
    const Box held = *LocalBox(from, shape, mesh, rank), wanted = *LocalBox(to, shape, mesh, rank);
    const int64_t both = Intersect(held, wanted).elements();
    missing.forward = std::max(missing.forward, static_cast<double>(wanted.elements() - both));
    missing.back = std::max(missing.back, static_cast<double>(held.elements() - both));
  }
  return missing;
}

std::vector<Layout> RandomLayouts(const Shape& shape, const Mesh& mesh) {
  std::mt19937 random(3);
  std::vector<Layout> layouts;
  while (layouts.size() < 60) {
    Layout layout;
    for (const MeshAxis& axis : mesh.axes) {
      const char* const forms[] = {"R", "S0", "S1", "S2", "S2", axis.size == 2 ? "S1[0,1,5]" : "S0[0,3,3,7]"};
      layout.push_back(*ParseAxisLayout(forms[random() % std::size(forms)]));
    }
    if (CheckLayout(layout, shape, mesh).ok()) layouts.push_back(std::move(layout));
  }
  return layouts;
}

TEST(EdgeBlocks, MissWhatBoxesMiss) {
  const Mesh mesh{{{"a", 2}, {"b", 3}, {"c", 2}}};
  int differ = 0;
  for (const Shape& shape : {Shape{7, 5, 4}, Shape{12, 6, 8}}) {
    const std::vector<Layout> layouts = RandomLayouts(shape, mesh);
    EdgeBlocks blocks(shape, mesh);
    std::vector<int> ways;
    for (const Layout& layout : layouts) ways.push_back(blocks.WayOf(layout));
    blocks.FindCommon();
    for (size_t i = 0; i < layouts.size(); ++i) {
      EXPECT_EQ(blocks.FirstBlock(ways[i]), LocalBox(layouts[i], shape, mesh, 0)->elements());
      for (size_t j = 0; j < layouts.size(); ++j) {
        const std::string pair = ToString(layouts[i], mesh) + " -> " + ToString(layouts[j], mesh);
        const MissingElements wanted = MissingOfBoxes(layouts[i], layouts[j], shape, mesh);
        const MissingElements missing = blocks.Missing(ways[i], ways[j]);
        ASSERT_EQ(missing.forward, wanted.forward) << pair;
        ASSERT_EQ(missing.back, wanted.back) << pair;
        differ += missing.forward > 0 && missing.back > 0 && missing.forward != missing.back ? 1 : 0;
      }
    }
  }
  EXPECT_GT(differ, 200);
}

TEST_F(TwoLayersOnToy, TablesShareMatrices) {
  LayerCosts costs(layers_, PrimeMesh(4), basis_);
  const auto tables = MakeLayerTables(costs);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_TRUE(CheckTables(tables->tables).ok());
  EXPECT_EQ(tables->tables.ops[2].configs,
            (std::vector<std::string>{"n4", "n2 c2", "n2 k2", "n2", "c4", "c2 k2", "c2", "k4", "k2", "whole"}));
  EXPECT_EQ(tables->tables.ops[3].configs.size(), 9U) << "3 channels are not 4";
  EXPECT_LE(tables->matrices, 4);
}

TEST_F(TwoLayersOnToy, GridModes) {
  LayerCosts costs(layers_, GroupMesh(2, 2), basis_);
  const auto tables = GridModeTables(costs, /*of_groups=*/false);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->mesh.ToString(), "data:2 model:2");
  EXPECT_EQ(tables->tables.ops[2].configs, (std::vector<std::string>{"n4", "n2 c2", "n2 k2", "n2"}));
  const int compiled = costs.compiled();
  const auto groups = GridModeTables(costs, /*of_groups=*/true);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(groups->tables.ops[2].configs, (std::vector<std::string>{"n2 c2", "n2 k2", "n2"}))
      << "dense layers share no samples";
  EXPECT_EQ(costs.compiled(), compiled) << "every choice of a group is one of the grid";
}

TEST_F(TwoLayersOnToy, PlacementTables) {
  const auto table = [&](int data, StepPart part) {
    LayerCosts costs(layers_, GroupMesh(data, 2), basis_);
    const auto whole = WholeLayers::Of(costs);
    EXPECT_TRUE(whole.ok()) << whole.status();
    PlacementTable made = PlacementTableOf(*whole, part);
    EXPECT_TRUE(CheckPlacementGraph(made.graph).ok());
    return made;
  };
  const PlacementTable forward = table(1, StepPart::kForward);
  EXPECT_EQ(forward.layer_of_op, (std::vector<int>{2, 3, 4})) << "without inputs";
  EXPECT_NEAR(forward.graph.edges[0].seconds * 1e6, 10 + 160, 1e-6) << "a [8,5]";
  const PlacementTable both = table(1, StepPart::kBoth);
  EXPECT_EQ(both.layer_of_op, (std::vector<int>{2, 3, 4, 4, 3, 2}));
  EXPECT_EQ(both.graph.ops.back().together, 2);
  EXPECT_NEAR(table(2, StepPart::kForward).graph.ops[1].seconds * 1e6, 3 + 120, 1e-3) << "half of the samples";
  const PlacementTable joined = table(1, StepPart::kJoined);
  EXPECT_NEAR(joined.graph.ops[1].seconds * 1e6, 3 * (3 + 240), 1e-3);
  EXPECT_NEAR(joined.graph.edges[0].seconds * 1e6, 2 * (10 + 160), 1e-6) << "there and back";
  EXPECT_EQ(DevicesOfLayers(layers_, forward, {0, 1, 1}), (std::vector<int>{0, 1, 0, 1, 1}));
}

TEST_F(TwoLayersOnToy, PipelineTables) {
  LayerCosts costs(layers_, GroupMesh(1, 2), basis_);
  const auto whole = WholeLayers::Of(costs);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::vector<PipelineLayer> chain = PipelineTable(*whole);
  ASSERT_EQ(chain.size(), 5U);
  const PipelineLayer& z = chain[3];
  EXPECT_NEAR(z.forward * 1e6, 240, 1e-3);
  EXPECT_NEAR(z.backward * 1e6, 480, 1e-3);
  EXPECT_NEAR(z.fixed * 1e6, 3 * 3, 1e-6);
  EXPECT_NEAR(z.send * 1e6, 4 * 24 + 4 * 8, 1e-6) << "z and the labels pass on to the loss";
  EXPECT_NEAR(z.latency * 1e6, 2 * 10, 1e-6);
}

// Of an op that takes less than the roofline launches are quicker, too: there is no less than nothing beside them.
TEST_F(TwoLayersOnToy, PipelinesOfKernelsQuickerThanLaunches) {
  Cluster quick = basis_.cluster;
  quick.kinds[0].launch_seconds = 1;
  quick.kinds[0].op_times = {{"matmul", 0.25}};
  const CostBasis basis{basis_.registry, quick, basis_.times};
  LayerCosts costs(layers_, GroupMesh(1, 2), basis);
  const auto whole = WholeLayers::Of(costs);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::vector<PipelineLayer> chain = PipelineTable(*whole);
  ASSERT_EQ(chain.size(), 5U);
  EXPECT_EQ(chain[3].forward, 0);
  EXPECT_NEAR(chain[3].fixed, 0.75, 1e-3) << "a product forward and two backward";
}

}  // namespace
}  // namespace partita
