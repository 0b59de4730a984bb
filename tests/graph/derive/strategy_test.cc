// What a strategy makes of a graph, and what is refused.
#include "graph/derive/strategy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>

#include "graph/make_program.h"
#include "graph/passes/unroll_micro_batches.h"
#include "graph/read/graph_assembler.h"
#include "graph/text/text.h"
#include "graph/value/pattern.h"
#include "ops/registry.h"
#include "tests/graph/two_layers.h"

namespace partita {
namespace {

AxisConfig Split(const std::string& name, std::vector<int64_t> cuts = {}) { return {name, 0, std::move(cuts)}; }

TEST(MatchesPattern, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(MatchesPattern("conv?", "conv1"));
  EXPECT_FALSE(MatchesPattern("conv?", "conv12"));
  EXPECT_FALSE(MatchesPattern("a*b", "a-c"));
  EXPECT_TRUE(MatchesPattern("**", "x"));
}

// The index finds what trying every entry finds, whatever stands before a pattern's first star.
TEST(StrategyIndex, FindsWhatMatches) {
  const std::string parts[] = {"a", "b", "conv", "*", "?", "/", "1"};
  std::mt19937 random(1);
  const auto make = [&](bool pattern) {
    std::string text;
    for (size_t i = 1 + random() % 4; i-- > 0;) {
      const std::string& part = parts[random() % std::size(parts)];
      text += pattern || (part != "*" && part != "?") ? part : "b";
    }
    return text;
  };
  Strategy strategy;
  for (int i = 0; i < 300; ++i) strategy.ops.push_back({make(true), {}, {}});
  const StrategyIndex index(strategy);
  size_t found = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string name = make(false);
    std::vector<int> matching;
    for (int e = 0; e < 300; ++e) {
      if (MatchesPattern(strategy.ops[e].pattern, name)) matching.push_back(e);
    }
    EXPECT_EQ(index.Matching(name), matching) << name;
    EXPECT_EQ(index.Matching(name), matching) << name << ", asked again";
    found += matching.size();
  }
  EXPECT_GT(found, 500u);
}

// Entries for layers by their beginning, as people write them: each is held against few names.
TEST(StrategyIndex, PatternsThatBeginOtherwiseCostNothing) {
  Strategy strategy;
  for (int i = 0; i < 10'000; ++i) strategy.ops.push_back({fmt::format("layer{}/*", i), {}, {}});
  const StrategyIndex index(strategy);
  int64_t comparisons = 1000;
  EXPECT_EQ(index.Matching("layer77/conv/weights", comparisons), std::vector<int>{77});
  EXPECT_GT(comparisons, 800);
}

TEST(StrategyIndex, GivesUpWhenComparisonsAreUsedUp) {
  Strategy strategy;
  for (int i = 0; i < 100; ++i) strategy.ops.push_back({fmt::format("*a*b*{}", i), {}, {}});
  const StrategyIndex index(strategy);
  int64_t comparisons = 2000;
  index.Matching(std::string(1000, 'a'), comparisons);
  EXPECT_LT(comparisons, 0);
  EXPECT_GT(comparisons, -10);
  EXPECT_TRUE(index.Matching("ab7") == std::vector<int>{7});
}

TEST(Strategy, WorkOfPatternsIsBounded) {
  // Backtracking makes each of these take 4,000 times 1,000 steps.
  Model model = TwoLayers();
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  const std::string name(4000, 'a');
  std::vector<NodeDescription> nodes = Describe(model.graph);
  for (NodeDescription& node : nodes) {
    if (node.name == "h") node.name = name;
    for (std::string& input : node.inputs) input = input == "h" ? name : input;
  }
  const absl::StatusOr<Graph> graph = BuildGraph(nodes, "l", {}, Ops());
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (int i = 0; i < 100; ++i) {
    strategy.ops.push_back({fmt::format("*{}b{}", std::string(1000, 'a'), i), {{"data", Split("samples")}}, {}});
  }
  const absl::Status status = CheckStrategy(strategy, *graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      std::string(status.message()),
      "100 patterns against the names of 8 nodes take more than 200000000 comparisons; fewer patterns, or such that "
      "begin with letters, are allowed");
}

TEST(Strategy, MicroBatchesTimesNodesAreBounded) {
  const Model model = TwoLayers();
  EXPECT_EQ(std::string(UnrollMicroBatches(model.graph, 4097, Ops()).status().message()),
            "micro_batches is 4097; 1 to 4096 are allowed");
  std::vector<NodeDescription> nodes = Describe(model.graph);
  for (NodeDescription& node : nodes) {
    if (node.op == "input") {
      Shape shape = node.attributes.Ints("shape");
      shape[0] = 4096;
      node.attributes.Set("shape", shape);
    }
    for (std::string& input : node.inputs) input = input == "a" ? "r99" : input;
  }
  for (int i = 0; i < 100; ++i) {
    nodes.push_back({fmt::format("r{}", i), "relu", {i == 0 ? "a" : fmt::format("r{}", i - 1)}, {}});
  }
  const absl::StatusOr<Graph> deep = BuildGraph(nodes, "l", {}, Ops());
  ASSERT_TRUE(deep.ok()) << deep.status();
  Strategy strategy;
  strategy.mesh.axes = {{"data", 1}};
  strategy.pipeline.micro_batches = 4096;
  const absl::Status status = MakeProgram({"", *deep, {}, {}}, strategy, Ops(), {}).status();
  EXPECT_NE(std::string(status.message()).find("at most 250000 are allowed"), std::string::npos) << status;
}

TEST(Strategy, RanksTimesNodesAreBounded) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 4096}};
  strategy.pipeline.micro_batches = 1024;
  const absl::Status status = CheckStrategy(strategy, TwoLayers().graph);
  EXPECT_EQ(std::string(status.message()),
            "8 nodes in 1024 micro-batches on 4096 ranks are 33554432 placements; at most 16777216 are allowed");
  strategy.pipeline.micro_batches = 512;
  EXPECT_TRUE(CheckStrategy(strategy, TwoLayers().graph).ok());
}

TEST(Strategy, TheFirstEntryDecidesAnAxis) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}, {"model", 2}};
  strategy.ops = {{"h", {{"model", Split("output_channels")}}, {}},
                  {"h", {{"model", Split("input_channels")}, {"data", Split("samples")}}, {}}};
  const absl::StatusOr<Graph> graph = TrainTwoLayers(strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(LayoutOf(*graph, "h"), "{data:S0 model:S1}");
  EXPECT_EQ(LayoutOf(*graph, "w"), "{data:R model:S1}");
}

TEST(Strategy, UnevenCutsAreFollowed) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  strategy.ops = {{"x", {{"data", Split("samples", {0, 5, 8})}}, {}}};
  const absl::StatusOr<Graph> graph = TrainTwoLayers(strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const char* value : {"h", "a", "z"}) EXPECT_EQ(LayoutOf(*graph, value), "{data:S0[0,5,8]}");
  EXPECT_EQ(LayoutOf(*graph, "t"), "{data:R}") << "labels are sliced where they are needed";
}

TEST(Strategy, ShardedUpdateKeepsItsSlotsSharded) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  strategy.ops = {{"w", {}, {{"data", Split("dimension0")}}}, {"*", {{"data", Split("samples")}}, {}}};
  Model model = TwoLayers();
  model.optimizer.attributes.Set("momentum", 0.9);
  const absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops(), {.verify_passes = true});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "w@momentum"), "{data:S0}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "v@momentum"), "{data:R}");
}

// The second product on a mesh of two other ranks: what follows it is there too, and so is its parameter with its slot.
TEST(Strategy, ANodeLiesOnTheMeshOfItsAxes) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 3}};
  strategy.further_meshes = {{{{"tail", 2}}, "tail", {2, 0}}};
  strategy.ops = {{"z", {{"tail", Split("output_channels")}}, {}}, {"*", {{"data", Split("samples")}}, {}}};
  Model model = TwoLayers();
  model.optimizer.attributes.Set("momentum", 0.9);
  const absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops(), {.verify_passes = true});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "a"), "{data:S0}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "w@momentum"), "{data:R}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "a@reshard"), "{tail:R}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "z"), "{tail:S1}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "v"), "{tail:S1}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "v@momentum"), "{tail:S1}");
  EXPECT_EQ(LayoutOf(program->graph(kEvaluateEntry), "v"), "{tail:S1}");
  EXPECT_EQ(LayoutOf(program->graph(kTrainEntry), "@iteration"), "{data:R}");
}

// Statistics over groups of 4: a split of the samples lies between groups.
TEST(Strategy, NoCutDividesAGroupOfBatchStatistics) {
  const absl::StatusOr<Graph> forward = ParseText(R"(state %mean
state %variance
%x = input() f32[8,6]
%gamma = parameter() initializer=constant f32[6]
%beta = parameter() initializer=constant f32[6]
%mean = state() initializer=constant f32[6]
%variance = state() initializer=constant f32[6]
%y = batch_norm(%x, %gamma, %beta, %mean, %variance) statistics_samples=4 f32[8,6]
metric %y
)",
                                                  Ops());
  ASSERT_TRUE(forward.ok()) << forward.status();
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  strategy.ops = {{"y", {{"data", Split("samples", {0, 4, 8})}}, {}}};
  const absl::StatusOr<Program> between = MakeProgram({"", *forward, {}, {}}, strategy, Ops(), {});
  EXPECT_TRUE(between.ok()) << between.status();
  strategy.ops[0].axes["data"].cuts = {0, 3, 8};
  const absl::Status inside = MakeProgram({"", *forward, {}, {}}, strategy, Ops(), {}).status();
  EXPECT_EQ(std::string(inside.message()),
            "node 'y': 'samples' over axis 'data': cuts [0,3,8] divide a group of 4 that belong together");
}

// Cuts of a convolution with groups count groups, input channels or output channels.
TEST(Strategy, CutsOfGroupsAreInAnyOfTheirUnits) {
  const absl::StatusOr<Graph> forward = ParseText(R"(state %w
%x = input() f32[2,3,3,6]
%w = parameter() initializer=uniform f32[12,1,1,2]
%y = conv2d(%x, %w) groups=3 f32[2,3,3,12]
metric %y
)",
                                                  Ops());
  ASSERT_TRUE(forward.ok()) << forward.status();
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  const auto compiled = [&](std::vector<int64_t> cuts) {
    strategy.ops = {{"y", {{"data", Split("output_channels", std::move(cuts))}}, {}}};
    return MakeProgram({"", *forward, {}, {}}, strategy, Ops(), {});
  };
  for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{0, 1, 3}, {0, 2, 6}, {0, 4, 12}}) {
    const absl::StatusOr<Program> program = compiled(cuts);
    ASSERT_TRUE(program.ok()) << program.status();
    const Graph& graph = program->graph(kEvaluateEntry);
    EXPECT_EQ(LayoutOf(graph, "y"), "{data:S3[0,4,12]}");
    EXPECT_EQ(LayoutOf(graph, "w"), "{data:S0[0,4,12]}");
    EXPECT_EQ(LayoutOf(graph, "x@slice_move"), "{data:S3[0,2,6]}");
  }
  const char* const says = "node 'y': 'output_channels' over axis 'data': cuts [";
  EXPECT_EQ(std::string(compiled({0, 6, 12}).status().message()),
            fmt::format("{}0,6,12] divide a group of 4 that belong together", says));
  EXPECT_EQ(std::string(compiled({0, 1, 4}).status().message()),
            fmt::format("{}0,1,4] found; 3 points that rise from 0 to 3 are needed", says));
}

struct Refusal {
  const char* name;
  Strategy strategy;
  const char* says;
};

Strategy With(const Mesh& mesh, std::vector<Mesh> further,
              std::vector<OpConfig> ops = {{"h", {{"data", {"samples", 0, {}}}}, {}}}) {
  Strategy strategy{mesh, std::move(ops)};
  strategy.further_meshes = std::move(further);
  return strategy;
}

Strategy Stages(const Mesh& mesh, std::vector<Mesh> further, std::vector<std::string> stages) {
  Strategy strategy = With(mesh, std::move(further));
  strategy.pipeline.stage_meshes = std::move(stages);
  return strategy;
}

Strategy Again(const Mesh& mesh, const std::string& pattern) {
  Strategy strategy = With(mesh, {});
  strategy.recompute = {{{"h"}}, {{"z", pattern}}};
  return strategy;
}

Mesh NineAxes() {
  Mesh mesh;
  for (int a = 0; a < 9; ++a) mesh.axes.push_back({fmt::format("a{}", a), 2});
  return mesh;
}

std::vector<Mesh> ManyMeshes(int count) {
  std::vector<Mesh> meshes;
  for (int m = 0; m < count; ++m) meshes.push_back({{{fmt::format("x{}", m), 1}}, fmt::format("m{}", m)});
  return meshes;
}

std::vector<Refusal> Refusals() {
  const Mesh mesh{{{"data", 2}}};
  return {
      {"NoSuchNode", {mesh, {{"hh", {{"data", Split("samples")}}, {}}}, -1}, "names no node"},
      {"NoSuchPattern", {mesh, {{"conv*", {{"data", Split("samples")}}, {}}}, -1}, "names no node"},
      {"NoSuchAxis", {mesh, {{"h", {{"dta", Split("samples")}}, {}}}, -1}, "did you mean 'data'"},
      {"NoSuchSplit", {mesh, {{"h", {{"data", Split("sample")}}, {}}}, -1}, "did you mean 'samples'"},
      {"SplitOfAnotherOp", {mesh, {{"a", {{"data", Split("output_channels")}}, {}}}, -1}, "'a'"},
      {"OffTheAxis", {mesh, {{"h", {{"data", {"at", 2, {}}}}, {}}}, -1}, "which has 2 ranks"},
      {"CutsThatDoNotCover", {mesh, {{"h", {{"data", Split("samples", {0, 3, 7})}}, {}}}, -1}, "rise from 0 to 8"},
      {"CutsThatFall", {mesh, {{"h", {{"data", Split("samples", {0, 9, 8})}}, {}}}, -1}, "rise from 0 to 8"},
      {"TooManyCuts", {mesh, {{"h", {{"data", Split("samples", {0, 1, 2, 8})}}, {}}}, -1}, "3 points"},
      {"SaysNothing", {mesh, {{"h", {}, {}}}, -1}, "says nothing"},
      {"UpdateOfAnOp", {mesh, {{"h", {}, {{"data", Split("dimension0")}}}}, -1}, "only a parameter"},
      {"EmptyAxis", {{{{"data", 0}}}, {{"h", {{"data", Split("samples")}}, {}}}, -1}, "at least 1"},
      {"AxisTwice", {{{{"data", 2}, {"data", 2}}}, {{"h", {{"data", Split("samples")}}, {}}}, -1}, "twice"},
      {"RankTwice", With(mesh, {{{{"b", 2}}, "m", {1, 1}}}), "mesh 'm' names rank 1 twice"},
      {"RankOffTheProgram", With(mesh, {{{{"b", 2}}, "m", {0, 2}}}),
       "names rank 2; the first mesh has the ranks 0 to 1"},
      {"RanksAndPlaces", With(mesh, {{{{"b", 2}}, "m", {1}}}), "names 1 rank; its axes have room for 2"},
      {"MoreThanAllRanks", With(mesh, {{{{"b", 3}}, "m"}}), "the first mesh, which has all, has 2"},
      {"MeshTwice", With(mesh, {{{{"b", 2}}, "m"}, {{{"c", 2}}, "m"}}), "mesh 'm' is named twice"},
      {"MeshNamedAsTheFirst", With(mesh, {{{{"b", 2}}, "all"}}), "that name means the first mesh"},
      {"MeshWithoutName", With(mesh, {{{{"b", 2}}}}), "has no name"},
      {"MeshWithoutAxes", With(mesh, {{{}, "m", {0}}}), "mesh 'm' has no axis"},
      {"AxisOfTwoMeshes", With(mesh, {{{{"data", 2}}, "m"}}), "axis 'data' is named twice"},
      {"AxesOfTwoMeshes",
       With(mesh, {{{{"b", 2}}, "m"}}, {{"h", {{"data", Split("samples")}, {"b", Split("samples")}}, {}}}),
       "'b' and 'data' are of two meshes"},
      {"UnknownOfTwoMeshes", With(mesh, {{{{"b", 2}}, "m"}}, {{"h", {{"dat", Split("samples")}}, {}}}),
       "the meshes have no axis 'dat'; did you mean 'data'"},
      {"UpdateOnAnotherMesh", With(mesh, {{{{"b", 2}}, "m"}}, {{"w", {}, {{"b", Split("dimension0")}}}}),
       "update of 'w': the parameter lies on mesh 'data:2', which has no axis 'b'"},
      {"NoSuchStage", Stages(mesh, {{{{"b", 2}}, "m"}}, {"n"}), "stage_meshes: there is no further mesh 'n'"},
      {"StageTwice", Stages(mesh, {{{{"b", 2}}, "m"}}, {"m", "m"}), "mesh 'm' is two stages"},
      {"TooManyRanks", {{{{"data", 16385}}}, {{"h", {{"data", Split("samples")}}, {}}}, -1}, "more than 16384 ranks"},
      {"TooManyAxes", {NineAxes(), {{"h", {{"a0", Split("samples")}}, {}}}, -1}, "has 9 axes; at most 8 are allowed"},
      {"NoSuchNodeAgain", Again(mesh, "zz"), "recompute: 'zz' names no node of the graph; did you mean 'z'?"},
      {"NoSuchPatternAgain", Again(mesh, "conv*"), "recompute: 'conv*' names no node of the graph"},
      {"TooManyMeshes", With(mesh, ManyMeshes(257)), "there are 257 further meshes; at most 256 are allowed"},
  };
}

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, InWords) {
  const absl::StatusOr<Graph> graph = TrainTwoLayers(GetParam().strategy);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(graph.status().message()).find(GetParam().says), std::string::npos) << graph.status();
}

INSTANTIATE_TEST_SUITE_P(Strategies, Refused, testing::ValuesIn(Refusals()),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

}  // namespace
}  // namespace partita
