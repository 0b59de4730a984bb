// Graphs and strategies of a few lines that the compiler once took for others: each computes what one rank does.
#include <gtest/gtest.h>

#include "graph/proto_io/proto_io.h"
#include "graph/read/graph_assembler.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/mutation/judge.h"

namespace partita {
namespace {

Graph GraphOf(const std::string& text) {
  const absl::StatusOr<Graph> graph = ParseText(text, Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

Subject SubjectOf(const Graph& graph, Strategy strategy) {
  Subject subject;
  subject.nodes = Describe(graph);
  subject.loss = graph.value(graph.loss).name;
  subject.learning_rate.base = 0.01;
  subject.strategy = std::move(strategy);
  return subject;
}

Strategy StrategyOf(const std::string& text) {
  const absl::StatusOr<Strategy> strategy = ParseStrategy("schema_version: 1 " + text, ProtoFormat::kText, "strategy");
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return strategy.ok() ? *strategy : Strategy();
}

void ExpectRuns(const Subject& subject) {
  const Verdict verdict = Judge(subject);
  EXPECT_EQ(verdict.outcome, Outcome::kRan) << verdict.why;
}

void ExpectRuns(const std::string& graph, const std::string& strategy) {
  ExpectRuns(SubjectOf(GraphOf(graph), StrategyOf(strategy)));
}

// The last row of windows sees nothing but zeros: there are more of them than rows of the image.
TEST(Splits, WindowsOfOneElementWithZerosBehind) {
  const std::string graph = R"(%images = input() f64[2,4,1,1]
%labels = input() i32[2]
%w = parameter() initializer=uniform f64[1,1,1,1]
%c = conv2d(%images, %w) padding=[0,1,0,0] f64[2,5,1,1]
%f = reshape(%c) f64[2,5]
%v = parameter() initializer=uniform f64[5,10]
%z = matmul(%f, %v) f64[2,10]
%l = softmax_cross_entropy(%z, %labels, _) f64[]
state %w
state %v
loss %l
)";
  ExpectRuns(graph, R"(mesh { name: "rows" size: 2 } ops { pattern: "c" axes { axis: "rows" split: "height" } })");
  ExpectRuns(graph, R"(mesh { name: "rows" size: 3 }
                       ops { pattern: "c" axes { axis: "rows" split: "height" cuts: [0,1,4,5] } })");
}

constexpr char kSharedGradient[] = R"(%labels = input() i32[4]
%p = parameter() initializer=uniform f64[4,10]
%q = parameter() initializer=uniform scale=0.5 f64[4,10]
%x = add(%p, %q) f64[4,10]
%l = softmax_cross_entropy(%x, %labels, _) f64[]
state %p
state %q
loss %l
)";

TEST(Splits, TwoParametersWithOneGradientAreClippedTogether) {
  for (const char* strategy : {R"(mesh { name: "data" size: 1 })",
                               R"(mesh { name: "data" size: 2 }
                                  ops { pattern: "x" axes { axis: "data" split: "samples" } })",
                               R"(mesh { name: "data" size: 2 }
                                  ops { pattern: "p" update { axis: "data" split: "dimension1" } })"}) {
    Subject subject = SubjectOf(GraphOf(kSharedGradient), StrategyOf(strategy));
    subject.optimizer.clip_norm = 0.05;
    subject.optimizer.momentum = 0.9;
    ExpectRuns(subject);
  }
}

}  // namespace
}  // namespace partita
