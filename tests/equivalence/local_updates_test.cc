// Local updates: mini-inception in blocks, each with a loss of its own. Split, or with a stage for each block, it goes
// the way of one rank; no stage gets anything from a later one before the update, and each goes backward right behind
// its forward.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8, kPixels = 12, kClasses = 10;
constexpr int kSteps = 3;

absl::StatusOr<Model> MakeBlocks(bool local_updates) {
  const ModelOptions options{.batch = kBatch,
                             .image_size = kPixels,
                             .channel_limit = 4,
                             .statistics_samples = kBatch / 4,
                             .local_updates = local_updates};
  ASSIGN_OR_RETURN(Model model, MakeModel("mini-inception", options, Ops()));
  model.learning_rate = {.base = 1e-2};
  return model;
}

absl::StatusOr<Strategy> LocalPipeline() { return LoadStrategy("tools/models/examples/mini_inception_local.pbtxt"); }

NamedTensors BatchOf(int step) {
  return {SmallImages({kBatch, kPixels, kPixels, 1}, step), SmallLabels(kBatch, kClasses, step)};
}

TEST(LocalUpdates, GoTheWayOfOneRankUnderSplits) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlocks(true));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 2));
  const absl::Status status = RunSideBySide(model, strategy, kSteps, BatchOf);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(LocalUpdates, GoTheWayOfOneRankAsStages) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlocks(true));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, LocalPipeline());
  const absl::Status status = RunSideBySide(model, strategy, kSteps, BatchOf, /*delay_seed=*/1);
  EXPECT_TRUE(status.ok()) << status;
}

// Moves of micro-batches from a stage to an earlier one.
std::vector<std::string> MovesBack(const Graph& graph) {
  std::vector<std::string> moves;
  for (const Node& node : graph.nodes()) {
    if (!node.op->move || node.micro_batch < 0) continue;
    const AxisLayout from = graph.layout(node.inputs[0])[0], to = graph.layout(node.outputs[0])[0];
    if (from.at() && to.at() && from.coordinate > to.coordinate) moves.push_back(graph.value(node.outputs[0]).name);
  }
  return moves;
}

// Of what a stage computes of micro-batches: "F0 B0 F1 ...".
std::string Tasks(const Graph& graph, int stage) {
  std::string tasks, last;
  for (const Node& node : graph.nodes()) {
    if (node.op->move || node.micro_batch < 0 || graph.layout(node.outputs[0])[0] != AxisLayout::At(stage)) continue;
    const std::string task = (node.phase == Phase::kBackward ? "B" : "F") + std::to_string(node.micro_batch) + " ";
    if (task != last) tasks += task;
    last = task;
  }
  return tasks;
}

TEST(LocalUpdates, NoStageWaitsForALaterOne) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlocks(true));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, LocalPipeline());
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  EXPECT_EQ(MovesBack(program.graph(kTrainEntry)), std::vector<std::string>{});
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(Tasks(program.graph(kTrainEntry), stage), "F0 B0 F1 B1 F2 B2 F3 B3 ") << "stage " << stage;
  }
}

TEST(LocalUpdates, WithoutThemEveryStageWaits) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlocks(false));
  ASSERT_OK_AND_ASSIGN(Strategy strategy, LocalPipeline());
  strategy.pipeline.order = PipelineOrder::kOneForwardOneBackward;
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  EXPECT_EQ(MovesBack(program.graph(kTrainEntry)).size(), 2u * 4);
}

}  // namespace
}  // namespace partita
