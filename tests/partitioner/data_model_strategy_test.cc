#include "partitioner/data_model_strategy.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/text.h"
#include "ops/registry.h"

namespace partita {
namespace {

constexpr char kForward[] = R"(state %w
state %v
%x = input() f32[8,6]
%t = input() i32[8]
%w = parameter() initializer=he_normal f32[6,5]
%h = matmul(%x, %w) f32[8,5]
%a = relu(%h) f32[8,5]
%v = parameter() initializer=he_normal f32[5,3]
%z = matmul(%a, %v) f32[8,3]
%l = softmax_cross_entropy(%z, %t, _) f32[]
loss %l
)";

Graph Forward() { return *ParseText(kForward, Ops()); }

absl::StatusOr<Graph> Train(const Strategy& strategy) {
  absl::StatusOr<Program> program =
      MakeProgram({"m", Forward(), {}, {}}, strategy, Ops(), {.bucket_bytes = 0, .verify_passes = true});
  if (!program.ok()) return program.status();
  return program->train;
}

std::string LayoutOf(const Graph& graph, const std::string& value) {
  return ToString(graph.layout(graph.Find(value)), graph.mesh());
}

TEST(DataModelStrategy, DataTimesModelByFlags) {
  const absl::StatusOr<Strategy> strategy = DataModelStrategy(Forward(), 2, 4);
  ASSERT_TRUE(strategy.ok());
  const absl::StatusOr<Graph> graph = Train(*strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(LayoutOf(*graph, "h"), "{data:S0 model:S1}");
  EXPECT_EQ(LayoutOf(*graph, "z"), "{data:S0 model:R}") << "3 channels are fewer than 4 ranks";
}

TEST(DataModelStrategy, OneRankMovesNothing) {
  const absl::StatusOr<Strategy> strategy = DataModelStrategy(Forward(), 1, 1);
  ASSERT_TRUE(strategy.ok());
  const absl::StatusOr<Graph> graph = Train(*strategy);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const Node& node : graph->nodes()) EXPECT_FALSE(node.op->move) << graph->value(node.outputs[0]).name;
}

TEST(DataModelStrategy, FewerThanOneRankIsRefused) {
  EXPECT_FALSE(DataModelStrategy(Forward(), 0, 1).ok());
  EXPECT_FALSE(DataModelStrategy(Forward(), 1, -2).ok());
}

}  // namespace
}  // namespace partita
