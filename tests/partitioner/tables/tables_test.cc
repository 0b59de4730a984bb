// The tables of small graphs against numbers that are reckoned by hand.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "partitioner/cost/group_cost.h"
#include "partitioner/tables/edge_blocks.h"
#include "partitioner/tables/edge_seconds.h"
#include "partitioner/tables/found_strategy.h"
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
  // Powers of two with a product of at most 64: n, h, w, c without a summed dimension, and n, c, k with one, whose sums
  // are whole or scattered.
  EXPECT_EQ(AllChoices(mesh).size(), 210U + 2 * 56U);
  EXPECT_EQ(PrimeMesh(12).ToString(), "a0:3 a1:2 a2:2");
  EXPECT_EQ(AllChoices(PrimeMesh(6)).size(), 49U);
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
  // Or scattered: relu computes the first 4 of 8 samples.
  const auto scattered = costs.Of(LayerOf("h"), {Cut::kScattered});
  ASSERT_TRUE(scattered.ok()) << scattered.status();
  EXPECT_EQ(scattered->makes[0][0], AxisLayout::Split(0));
  EXPECT_EQ(scattered->reads[0][0], AxisLayout::Split(1));
  EXPECT_LT(scattered->forward, with_relu->forward);
  EXPECT_FALSE(costs.Of(LayerOf("z"), {Cut::kScattered})->makes[0][0].split()) << "nothing is behind it";
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
  const auto joins = [](const EdgeTable& edge) { return edge.from == 2 && edge.to == 3; };
  const auto found = std::ranges::find_if(tables->tables.edges, joins);
  ASSERT_NE(found, tables->tables.edges.end());
  const EdgeTable& edge = *found;
  const auto seconds = [&](const char* from, const char* to) {
    return (*edge.seconds)[at(2, from) * tables->tables.configs(3) + at(3, to)];
  };
  EXPECT_EQ(seconds("c4", "k4"), 0);
  EXPECT_EQ(seconds("n2 c2", "n2 k2"), 0);
  EXPECT_GT(seconds("n4", "k4"), 0);
}

// x [8,6] is normed, and read by two products and the sum behind them, whose table is the words'.
constexpr char kSharing[] = R"(state %t
state %g
state %o
state %w
%ids = input() i32[8]
%next = input() i32[8]
%t = parameter() initializer=he_normal f32[9,6]
%x = embedding(%t, %ids) f32[8,6]
%g = parameter() initializer=constant f32[6]
%o = parameter() initializer=constant f32[6]
%n = layer_norm(%x, %g, %o) f32[8,6]
%w = parameter() initializer=he_normal f32[6,6]
%a = matmul(%n, %w) f32[8,6]
%b = matmul(%n, %w) transpose_w=true f32[8,6]
%s = add(%a, %b, %n) f32[8,6]
%z = matmul(%s, %t) transpose_w=true f32[8,9]
%l = softmax_cross_entropy(%z, %next, _) f32[]
loss %l
)";

class Sharing : public testing::Test {
 protected:
  int OpOf(const std::string& name) const {
    const auto& ops = tables_.tables.ops;
    return static_cast<int>(std::ranges::find(ops, name, &OpTable::op) - ops.begin());
  }
  // The last of this name: of a value that a layer is named after, its hub.
  int HubOf(const std::string& name) const {
    const auto& ops = tables_.tables.ops;
    for (size_t op = ops.size(); op-- > 0;) {
      if (ops[op].op == name) return static_cast<int>(op);
    }
    return -1;
  }
  int ConfigOf(int op, const std::string& config) const {
    const std::vector<std::string>& names = tables_.tables.ops[op].configs;
    return static_cast<int>(std::ranges::find(names, config) - names.begin());
  }
  const EdgeTable* EdgeOf(int from, int to) const {
    for (const EdgeTable& edge : tables_.tables.edges) {
      if (edge.from == from && edge.to == to) return &edge;
    }
    return nullptr;
  }

  const Graph graph_ = *ParseText(kSharing, Ops());
  const LayerGraph layers_ = *FindLayers(graph_, Ops());
  const KernelTimes times_;
  const Cluster cluster_ = Toy(2);
  const CostBasis basis_{Ops(), cluster_, times_, 3};
  LayerCosts costs_{layers_, PrimeMesh(2), basis_};
  const LayerTables tables_ = *MakeLayerTables(costs_);
};

// A layer norm has no channels to split; a product behind it has.
TEST_F(Sharing, ProductsLeadLayers) {
  std::vector<std::string> names;
  for (const OpLayer& layer : layers_.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"ids", "next", "x", "n", "a", "b", "z", "l"}));
  EXPECT_EQ(ConfigOf(OpOf("a"), "c2"), 1);
}

// %n is gathered once for its three readers, and their gradients are added up before they are scattered.
TEST_F(Sharing, AValueTravelsOnceForAllThatReadIt) {
  const int norm = OpOf("n"), hub = HubOf("n"), a = OpOf("a"), b = OpOf("b");
  ASSERT_NE(norm, hub);
  EXPECT_EQ(EdgeOf(norm, a), nullptr);
  const EdgeTable *to_hub = EdgeOf(norm, hub), *to_a = EdgeOf(hub, a), *to_b = EdgeOf(hub, b);
  ASSERT_TRUE(to_hub != nullptr && to_a != nullptr && to_b != nullptr);
  const int samples = ConfigOf(norm, "n2"), channels = ConfigOf(a, "c2"), summed = ConfigOf(a, "k2");
  const auto seconds = [&](const EdgeTable& edge, int from, int to) {
    return (*edge.seconds)[from * tables_.tables.configs(edge.to) + to];
  };
  double least = kNever, of_both_ways = kNever;
  for (int way = 0; way < tables_.tables.configs(hub); ++way) {
    const double gathered = seconds(*to_hub, samples, way);
    least = std::min(least, gathered + seconds(*to_a, way, channels) + seconds(*to_b, way, channels));
    of_both_ways = std::min(of_both_ways, gathered + seconds(*to_a, way, channels) + seconds(*to_b, way, summed));
  }
  // 192 bytes: all_gather and reduce_scatter.
  EXPECT_NEAR(1e6 * least, 2 * (10 + 192 / 2.0), 1e-6);
  EXPECT_EQ(of_both_ways, least) << "a rank has the columns of what it has whole";
}

// The table has its weights, update and sum of gradients once, and lies as one of its readers wants it.
TEST_F(Sharing, AParameterOfTwoLayersIsCountedOnce) {
  ASSERT_EQ(layers_.shared.size(), 2u);
  EXPECT_EQ(graph_.value(graph_.Find("t")).name, layers_.graph.value(layers_.shared[0]).name);
  const int table = OpOf("t"), x = OpOf("x"), z = OpOf("z");
  ASSERT_EQ(table, static_cast<int>(layers_.layers.size()));
  const OpTable& op = tables_.tables.ops[table];
  const int rows = ConfigOf(table, "n2"), whole = ConfigOf(table, "whole");
  ASSERT_LT(rows, tables_.tables.configs(table));
  ASSERT_LT(whole, tables_.tables.configs(table));
  EXPECT_EQ(op.bytes[rows], 3 * 4 * 5 * 6) << "5 of 9 rows, with gradient and state";
  EXPECT_EQ(op.bytes[whole], 3 * 4 * 9 * 6);
  for (const int layer : {x, z}) {
    for (const LayerCost* cost : {&*costs_.Of(layers_.layers[layer], {Cut::kSamples})}) {
      EXPECT_EQ(cost->weight_bytes, 0);
      EXPECT_EQ(cost->synchronization, 0);
    }
  }
  // By rows for the words and by classes for the classifier nothing of it moves.
  const EdgeTable *to_x = EdgeOf(table, x), *to_z = EdgeOf(table, z);
  ASSERT_TRUE(to_x != nullptr && to_z != nullptr);
  EXPECT_EQ((*to_x->seconds)[rows * tables_.tables.configs(x) + ConfigOf(x, "k2")], 0);
  EXPECT_EQ((*to_z->seconds)[rows * tables_.tables.configs(z) + ConfigOf(z, "c2")], 0);
  EXPECT_GT((*to_z->seconds)[rows * tables_.tables.configs(z) + ConfigOf(z, "n2")], 0);
}

TEST_F(Sharing, AParameterIsNamedAsItLies) {
  std::vector<Choice> choices(layers_.layers.size() + layers_.shared.size(), Choice{Cut::kWhole});
  choices[layers_.layers.size()] = {Cut::kSamples};
  const Strategy strategy = StrategyOfChoices(graph_, layers_, PrimeMesh(2), choices);
  std::map<std::string, std::string> said;
  for (const OpConfig& entry : strategy.ops) said[entry.pattern] = entry.axes.at("a0").split;
  EXPECT_EQ(said.at("t"), "dimension0");
  EXPECT_EQ(said.at("w"), "replicate");
  EXPECT_TRUE(CheckStrategy(strategy, graph_).ok());
}

// As if computing hid them.
TEST_F(Sharing, SumsOfGradientsCanBeLeftOut) {
  const CostTables hidden = WithHiddenSums(tables_);
  const int norm = OpOf("n"), samples = ConfigOf(norm, "n2"), whole = ConfigOf(norm, "whole");
  const double sum = costs_.Of(layers_.layers[norm], {Cut::kSamples})->synchronization;
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(hidden.ops[norm].seconds[samples], tables_.tables.ops[norm].seconds[samples] - sum, 1e-15);
  EXPECT_EQ(hidden.ops[norm].seconds[whole], tables_.tables.ops[norm].seconds[whole]);
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
  const auto microseconds = [&](const AxisLayout& from, const EdgeEnd& to, bool back, uint32_t open = 0) {
    return 1e6 * EdgeSeconds({DType::kF32, {8, 4}}, {{{from}, 0, open}}, {to}, back, mesh, moves)[0];
  };
  EXPECT_EQ(microseconds(samples, {{samples}}, true), 0);
  EXPECT_NEAR(microseconds(samples, {{channels}}, false), 10 + 32 + 2 * 3, 1e-6)
      << "half of 64 bytes is there; packed and unpacked";
  EXPECT_NEAR(microseconds(samples, {{channels}}, true), 2 * (10 + 32 + 2 * 3), 1e-6);
  EXPECT_NEAR(microseconds(samples, {{whole}}, true), 2 * (10 + 64), 1e-6) << "gathered, and summed back";
  EXPECT_NEAR(microseconds(samples, {{whole}, 1}, true), 10 + 64, 1e-6) << "each has all of the gradient";
  EXPECT_NEAR(microseconds(whole, {{samples}}, true), 10 + 64, 1e-6) << "back each gets the other's half";
  EXPECT_EQ(microseconds(whole, {{samples}}, true, 1), 0) << "halves are taken as summands";
  EXPECT_NEAR(microseconds(AxisLayout::Partial(), {{samples}}, true), 2 * (10 + 64), 1e-6)
      << "summed into parts, gathered back";
  EXPECT_NEAR(microseconds(whole, {{whole}}, true),
              1e6 * GroupSeconds(cluster, CollectiveKind::kAllReduce, 128, {{0, 1}}, 0), 1e-6);
  EXPECT_EQ(microseconds(whole, {{whole}}, true, 1), 0) << "summands are taken";
  EXPECT_EQ(microseconds(whole, {{whole}, 1}, true), 0);
}

// Over four ranks: what becomes whole is one collective, what becomes other parts messages.
TEST(EdgeSeconds, ByCollectives) {
  const Mesh mesh = PrimeMesh(4);
  const Cluster cluster = Toy(4);
  MoveSeconds moves(mesh, cluster);
  const auto part = AxisLayout::Split(0), other = AxisLayout::Split(1), whole = AxisLayout::Replicate();
  const auto seconds = [&](const Layout& from, const Layout& to, bool back) {
    return EdgeSeconds({DType::kF32, {8, 4}}, {{from}}, {{to}}, back, mesh, moves)[0];
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
  EXPECT_NEAR(1e6 * seconds({part, part}, {other, other}, false), 10 + 32 - 8 + 2 * 3, 1e-6)
      << "a quarter of 32 bytes is there";
  // Summands of what the second axis reads whole are added up before the parts of the first one go back.
  const double added = collective(CollectiveKind::kAllReduce, 64, {{0, 1}, {2, 3}});
  const double there = seconds({part, part}, {other, whole}, false);
  EXPECT_NEAR(seconds({part, part}, {other, whole}, true), there + added + 1e-6 * (10 + 64 - 16 + 2 * 3), 1e-12)
      << "a quarter of 64 bytes stays";
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
            (std::vector<std::string>{"n4", "n2 c2", "n2 k2", "n2 s2", "n2", "c4", "c2 k2", "c2 s2", "c2", "k4", "s4",
                                      "k2", "s2", "whole"}));
  EXPECT_EQ(tables->tables.ops[3].configs.size(), 9U) << "3 channels are not 4";
  EXPECT_LE(tables->matrices, 4);
}

TEST_F(TwoLayersOnToy, GridModes) {
  LayerCosts costs(layers_, GroupMesh(2, 2), basis_);
  const auto tables = GridModeTables(costs, /*of_groups=*/false);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->mesh.ToString(), "data:2 model:2");
  EXPECT_EQ(tables->tables.ops[2].configs, (std::vector<std::string>{"n4", "n2 c2", "n2 k2", "n2 s2", "n2"}));
  const int compiled = costs.compiled();
  const auto groups = GridModeTables(costs, /*of_groups=*/true);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(groups->tables.ops[2].configs, (std::vector<std::string>{"n2 c2", "n2 k2", "n2 s2", "n2"}))
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
