// The order of a pipeline in a whole program: tasks in their order, collectives the same for all ranks, and refusals.
#include "graph/passes/order_pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/two_layers.h"

namespace partita {
namespace {

OpConfig At(const std::string& node, int stage) { return {node, {{"stage", {"at", stage, {}}}}, {}}; }

Strategy TwoStages(PipelineOrder order, int64_t micro_batches) {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", 2}};
  strategy.ops = {At("h", 0), At("a", 0), At("z", 1), At("l", 1)};
  strategy.pipeline = {micro_batches, "stage", order};
  return strategy;
}

// Micro-batches in the order in which the nodes of `phase` that compute `forward_name` run.
std::string Order(const Graph& graph, const std::string& forward_name, Phase phase) {
  std::string order;
  for (const Node& node : graph.nodes()) {
    const std::string& name = graph.value(node.outputs[0]).name;
    if (node.phase == phase && !node.op->move && node.micro_batch >= 0 && name.rfind(forward_name + "@micro", 0) == 0) {
      order += static_cast<char>('0' + node.micro_batch);
    }
  }
  return order;
}

// Micro-batches of layer 1 ("F0") and of the gradient that reaches it ("B0"), in the program's order.
std::string TasksOfStage0(const Graph& graph) {
  std::string tasks;
  for (const Node& node : graph.nodes()) {
    const std::string& name = graph.value(node.outputs[0]).name;
    const bool forward = node.phase == Phase::kForward && name.rfind("a@micro", 0) == 0 && !node.op->move;
    const bool backward = node.op->name == "relu_grad";
    if (forward || backward) tasks += fmt::format("{}{} ", forward ? "F" : "B", node.micro_batch);
  }
  return tasks;
}

TEST(OrderPipeline, StagesDoTheirTasksInTheOrderAskedFor) {
  const auto order = [](PipelineOrder order) {
    absl::StatusOr<Program> program = MakeProgram(TwoLayers(), TwoStages(order, 4), Ops(), {.verify_passes = true});
    EXPECT_TRUE(program.ok()) << program.status();
    return TasksOfStage0(program->graph(kTrainEntry));
  };
  EXPECT_EQ(order(PipelineOrder::kGPipe), "F0 F1 F2 F3 B0 B1 B2 B3 ");
  EXPECT_EQ(order(PipelineOrder::kOneForwardOneBackward), "F0 F1 B0 F2 B1 F3 B2 B3 ");
  EXPECT_EQ(order(PipelineOrder::kOverlapFriendly), "F0 F1 F2 B0 F3 B1 B2 B3 ");
}

TEST(OrderPipeline, WithoutStagesMicroBatchesFollowEachOther) {
  Strategy strategy;
  strategy.pipeline.micro_batches = 4;
  const absl::StatusOr<Program> program = MakeProgram(TwoLayers(), strategy, Ops(), {.verify_passes = true});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(TasksOfStage0(program->graph(kTrainEntry)), "F0 B0 F1 B1 F2 B2 F3 B3 ");
  EXPECT_EQ(Order(program->graph(kTrainEntry), "z", Phase::kForward), "0123");
}

// The divisor is a number of all micro-batches, and their backward passes still begin as early as without it.
TEST(OrderPipeline, ALossOverACountOfLabelsWaitsForNoForwardPass) {
  std::string text = ToText(TwoLayers().graph);
  const std::string loss = "softmax_cross_entropy(%z, %t, _)";
  text.replace(text.find(loss), loss.size(), loss + " ignore_index=-100");
  Model model;
  model.graph = ParseText(text, Ops()).value();
  Strategy one_stage;
  one_stage.pipeline.micro_batches = 4;
  for (const auto& [strategy, tasks] : std::vector<std::pair<Strategy, std::string>>{
           {one_stage, "F0 B0 F1 B1 F2 B2 F3 B3 "},
           {TwoStages(PipelineOrder::kOneForwardOneBackward, 4), "F0 F1 B0 F2 B1 F3 B2 B3 "}}) {
    const absl::StatusOr<Program> program = MakeProgram(model, strategy, Ops(), {.verify_passes = true});
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(TasksOfStage0(program->graph(kTrainEntry)), tasks);
  }
}

TEST(OrderPipeline, StagesThatFormACycleAreRefused) {
  Strategy strategy = TwoStages(PipelineOrder::kGPipe, 2);
  strategy.ops = {At("h", 1), At("a", 0), At("z", 1), At("l", 1)};
  EXPECT_EQ(MakeProgram(TwoLayers(), strategy, Ops(), {.verify_passes = true}).status().message(),
            "'h' is computed on stage 1 and read on stage 0: stages form a cycle; a stage may only read what it or an "
            "earlier stage computes");
}

TEST(OrderPipeline, LocalStagesMustNotWaitForGradients) {
  EXPECT_EQ(
      MakeProgram(TwoLayers(), TwoStages(PipelineOrder::kLocal, 2), Ops(), {.verify_passes = true}).status().message(),
      "the gradient of 'a' goes from stage 1 back to stage 0; pipeline 'local' is for stages that get none, such as "
      "blocks behind stop_gradient");
}

TEST(OrderPipeline, AStageAxisThatTheMeshLacksIsRefused) {
  Strategy strategy = TwoStages(PipelineOrder::kGPipe, 2);
  strategy.pipeline.stage_axis = "stages";
  EXPECT_EQ(MakeProgram(TwoLayers(), strategy, Ops(), {.verify_passes = true}).status().message(),
            "stage_axis: the mesh has no axis 'stages'; did you mean 'stage'?");
}

}  // namespace
}  // namespace partita
