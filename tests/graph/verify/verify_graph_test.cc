// What a pass may leave behind, and what it may not: each break is found and named.
#include "graph/verify/verify_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/drop_unused.h"
#include "graph/passes/run_passes.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kGraph[] = R"(mesh data:2 model:2
state %w = %w@new
%x = input() f32[4,6] {data:S0 model:R}
%w = parameter() initializer=constant f32[6,8] {data:R model:S1}
%y = matmul(%x, %w) f32[4,8] {data:S0 model:S1}
%g = matmul(%x, %y) transpose_x=true f32[6,8] {data:P model:S1}
%g@all_reduce = all_reduce(%g) axes=data f32[6,8] {data:R model:S1}
%w@new = add(%w, %g@all_reduce) f32[6,8] {data:R model:S1}
%z = relu(%y) f32[4,8] {data:S0 model:S1}
)";

Layout LayoutOf(AxisLayout data, AxisLayout model) { return {std::move(data), std::move(model)}; }

std::string Found(const Graph& graph) { return std::string(VerifyGraph(graph).message()); }

TEST(VerifyGraph, AValidGraphPasses) { EXPECT_EQ(VerifyGraph(Parse(kGraph)), absl::OkStatus()); }

TEST(VerifyGraph, LayoutsThatNoRuleHas) {
  Graph graph = Parse(kGraph);
  graph.SetLayout(graph.Find("z"), LayoutOf(AxisLayout::Split(0), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'z'"), HasSubstr("no rule S1 -> R over axis 'model'")));
  graph = Parse(kGraph);
  graph.SetLayout(graph.Find("y"), LayoutOf(AxisLayout::Partial(), AxisLayout::Split(1)));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'y'"), HasSubstr("over axis 'data'")));
}

TEST(VerifyGraph, ALayoutThatDoesNotFitTheShape) {
  Graph graph = Parse(kGraph);
  graph.SetLayout(graph.Find("x"), LayoutOf(AxisLayout::Split(2), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'x'"), HasSubstr("S2")));
}

constexpr char kGated[] = R"(mesh data:2
state %n = %n@new
state %w = %w@new@all_gather
%x = input() f32[4] {data:R}
%w = parameter() initializer=constant f32[4] {data:R}
%n = state() initializer=constant scale=0.0 i32[] {data:R}
%one = constant() value=1.0 f32[] {data:R}
%apply = all_finite(%one, _) i32[] {data:R}
%always = all_finite(%one, %one) i32[] {data:R}
%w@slice_move = slice_move(%w) axes=data f32[4] {data:S0}
%x@slice_move = slice_move(%x) axes=data f32[4] {data:S0}
%w@new = sgd(%w@slice_move, %x@slice_move, %one, GATE, _) f32[4] {data:S0}
%w@new@all_gather = all_gather(%w@new) axes=data f32[4] {data:R}
%n@new = increment(%n, %apply) i32[] {data:R}
apply %apply
)";

std::string GatedBy(const std::string& gate) {
  std::string text = kGated;
  return text.replace(text.find("GATE"), 4, gate);
}

TEST(VerifyGraph, AnUpdateThatIsNotGated) {
  EXPECT_EQ(VerifyGraph(Parse(GatedBy("%apply"))), absl::OkStatus());
  for (const char* gate : {"_", "%always"}) {
    EXPECT_THAT(Found(Parse(GatedBy(gate))),
                HasSubstr("state 'w' is updated by 'w@new', a sgd that does not read whether the step is applied"));
  }
  Graph graph = Parse(GatedBy("%apply"));
  graph.SetUpdate(graph.Find("w"), graph.Find("x"));
  EXPECT_THAT(Found(graph), HasSubstr("state 'w' is updated by 'x', a input"));
  graph = Parse(GatedBy("%apply"));
  graph.apply = graph.Find("one");
  EXPECT_THAT(Found(graph), HasSubstr("apply 'one' is f32[] {data:R}; an i32[] on every rank is needed"));
}

TEST(VerifyGraph, AMoveThatLeadsElsewhere) {
  Graph graph = Parse(kGraph);
  graph.SetLayout(graph.Find("g@all_reduce"), LayoutOf(AxisLayout::Replicate(), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'g@all_reduce'"), HasSubstr("all_reduce over 'data'")));
  graph = Parse(kGraph);
  graph.SetLayout(graph.Find("g@all_reduce"), LayoutOf(AxisLayout::Split(0), AxisLayout::Split(1)));
  EXPECT_THAT(Found(graph), HasSubstr("does not lead from {data:P model:S1} to {data:S0 model:S1}"));
}

// An inner split of the rows would be one of other rows.
TEST(VerifyGraph, AMoveAroundASplitThatItLeavesAlone) {
  constexpr char kNested[] = R"(mesh data:2 model:2
%x = input() f32[8,6] {data:S0 model:S0}
%y = all_gather(%x) axes=model f32[8,6] {data:S0 model:R}
)";
  EXPECT_EQ(VerifyGraph(Parse(kNested)), absl::OkStatus());
  Graph graph = Parse(R"(mesh data:2 model:2
%x = input() f32[8,6] {data:S0 model:S0}
%y = all_gather(%x) axes=data f32[8,6] {data:R model:S0}
)");
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'y'"), HasSubstr("all_gather over 'data' does not lead")));
}

TEST(VerifyGraph, AMoveOfCopiesThatMayLackElements) {
  Graph graph = Parse(R"(mesh rows:2
%x = input() f32[1,7,1,1] {rows:S1}
%x@halo = halo_exchange(%x) axes=rows f32[1,7,1,1] {rows:S1(3x1/3-0)}
%y = all_gather(%x@halo) axes=rows f32[1,7,1,1] {rows:R}
)");
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'y'"), HasSubstr("does not lead from {rows:S1(3x1/3-0)}")));
}

TEST(VerifyGraph, ASourceThatHoldsASum) {
  Graph graph = Parse(kGraph);
  graph.SetLayout(graph.Find("x"), LayoutOf(AxisLayout::Partial(), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'x'"), HasSubstr("neither sums nor ghosts")));
}

constexpr char kTwoMeshes[] = R"(mesh data:2 model:2
mesh pair half:2 {3,0}
%x = input() f32[4,6] {data:S0 model:R}
%x@reshard = reshard(%x) f32[4,6] {half:S1}
%y = relu(%x@reshard) f32[4,6] {half:S1}
)";

TEST(VerifyGraph, WhatIsOnTwoMeshes) {
  EXPECT_EQ(VerifyGraph(Parse(kTwoMeshes)), absl::OkStatus());
  EXPECT_EQ(ToText(Parse(kTwoMeshes)), kTwoMeshes);
  Graph graph = Parse(kTwoMeshes);
  graph.SetLayout(graph.Find("y"), LayoutOf(AxisLayout::Split(0), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'y'"), HasSubstr("reads 'x@reshard' on mesh 'half:2 {3,0}'")));
  graph = Parse(R"(mesh data:2 model:2
mesh pair half:2 {3,0}
%a = input() f32[4,8] {data:S0 model:S1}
%b = input() f32[8,6] {data:R model:S0}
%x = matmul(%a, %b) f32[4,6] {data:S0 model:P}
%x@reshard = reshard(%x) f32[4,6] {half:S1}
)");
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'x@reshard'"), HasSubstr("neither sums nor ghosts: 'x' is")));
  graph = Parse(kTwoMeshes);
  graph.SetLayout(graph.Find("x@reshard"), LayoutOf(AxisLayout::Split(0), AxisLayout::Replicate()));
  EXPECT_THAT(Found(graph), HasSubstr("reshard reads 'x' on mesh 'data:2 model:2' and writes on mesh 'data:2"));
}

TEST(ParseText, MeshesThatCannotBe) {
  const auto refusal = [](const std::string& line) {
    return std::string(ParseText("mesh data:2\n" + line, Ops()).status().message());
  };
  EXPECT_THAT(refusal("mesh pair half:2 {0,2}\n"), HasSubstr("'2' in {0,2} is no rank of the first mesh"));
  EXPECT_THAT(refusal("mesh pair half:2 {0}\n"), HasSubstr("1 rank for a mesh of 2"));
  EXPECT_THAT(refusal("mesh pair half\n"), HasSubstr("'half' is no mesh axis"));
  EXPECT_THAT(refusal("%x = input() f32[2] {data:R}\nmesh pair half:2\n"), HasSubstr("behind the first node"));
}

TEST(VerifyGraph, TypesThatTheOpDoesNotMake) {
  Graph graph = Parse(kGraph);
  Node node = graph.node(graph.value(graph.Find("z")).producer);
  graph.AddNode(std::move(node), {{"wrong", {DType::kF32, {4, 7}}, graph.layout(graph.Find("z")), -1}});
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'wrong'"), HasSubstr("f32[4,7]; its op makes f32[4,8]")));
}

TEST(VerifyGraph, InputsAndAttributesThatAreMissing) {
  Graph graph = Parse(kGraph);
  const Value& z = graph.value(graph.Find("z"));
  Node node = graph.node(z.producer);
  node.inputs.clear();
  graph.AddNode(std::move(node), {{"lonely", z.type, z.layout, -1}});
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'lonely'"), HasSubstr("0 inputs")));
  graph = Parse(kGraph);
  const Value& y = graph.value(graph.Find("y"));
  node = graph.node(y.producer);
  node.attributes.Remove("transpose_w");
  graph.AddNode(std::move(node), {{"bare", y.type, y.layout, -1}});
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("node 'bare'"), HasSubstr("attributes")));
}

TEST(VerifyGraph, AStateWhoseUpdateLiesElsewhere) {
  Graph graph = Parse(kGraph);
  graph.SetUpdate(graph.Find("w"), graph.Find("z"));
  EXPECT_THAT(Found(graph), AllOf(HasSubstr("state 'w'"), HasSubstr("'z'")));
  graph = Parse(kGraph);
  graph.AddState({graph.Find("z"), kNoValue});
  EXPECT_THAT(Found(graph), HasSubstr("state 'z' is made by a relu"));
}

TEST(VerifyGraph, AResultThatDoesNotExist) {
  Graph graph = Parse(kGraph);
  graph.loss = 99;
  EXPECT_THAT(Found(graph), HasSubstr("99"));
}

// Between two good passes, one that forgets to reduce.
TEST(RunPasses, ABrokenPassIsNamed) {
  const auto keep = [](Graph graph) { return graph; };
  const auto forget = [](Graph graph) {
    graph.SetLayout(graph.Find("g"), LayoutOf(AxisLayout::Replicate(), AxisLayout::Split(1)));
    return graph;
  };
  const std::vector<Pass> passes = {{"keep", keep}, {"forget", forget}, {"keep again", keep}};
  const auto checked = RunPasses(Parse(kGraph), passes, "train", {.verify = true});
  EXPECT_EQ(checked.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(checked.status().message()),
              HasSubstr("pass 'forget' of 'train' left a broken graph: node 'g'"));
}

// What is run is proven, whoever asked for more.
TEST(RunPasses, TheLastGraphIsAlwaysChecked) {
  const auto forget = [](Graph graph) {
    graph.SetLayout(graph.Find("g"), LayoutOf(AxisLayout::Replicate(), AxisLayout::Split(1)));
    return graph;
  };
  const auto keep = [](Graph graph) { return graph; };
  const auto checked = RunPasses(Parse(kGraph), {{"forget", forget}, {"keep", keep}}, "train", {});
  EXPECT_EQ(checked.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(checked.status().message()),
              HasSubstr("one of the passes of 'train' left a broken graph: node 'g'"));
  EXPECT_TRUE(RunPasses(Parse(kGraph), {{"keep", keep}}, "train", {}).ok());
}

TEST(RunPasses, DisablesOptionalPassesAndShowsTheGraphAfterTheOthers) {
  const auto drop = [](const Graph& graph) { return DropUnused(graph); };
  const auto keep = [](Graph graph) { return graph; };
  const std::vector<Pass> passes = {{"keep", keep}, {"drop_unused", drop, /*optional=*/true}};
  std::vector<std::string> seen;
  PassOptions options;
  options.after = [&](const std::string& pass, const std::string& entry, const Graph& graph) {
    seen.push_back(fmt::format("{} {} {}", pass, entry, graph.Find("z") == kNoValue));
  };
  ASSERT_TRUE(RunPasses(Parse(kGraph), passes, "train", options).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"keep train false", "drop_unused train true"}));
  options.disabled = {"drop_unused", "keep"};
  seen.clear();
  ASSERT_TRUE(RunPasses(Parse(kGraph), passes, "train", options).ok());
  EXPECT_EQ(seen, std::vector<std::string>{"keep train false"}) << "a pass that programs need runs";
}

TEST(RunPasses, PassesRunInOrderAndTheirErrorsComeThrough) {
  const auto refuse = [](Graph) -> absl::StatusOr<Graph> { return absl::InvalidArgumentError("no"); };
  EXPECT_EQ(RunPasses(Parse(kGraph), {{"refuse", refuse}}, "train", {.verify = true}).status().message(), "no");
  const auto dropped = RunPasses(Parse(kGraph), {{"drop_unused", [](const Graph& graph) { return DropUnused(graph); }}},
                                 "train", {.verify = true});
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(dropped->Find("z"), kNoValue);
}

}  // namespace
}  // namespace partita
