// Large values that are gathered for nodes that could read them in parts are found with the entries that avoid it.
#include "partitioner/explain/avoidable_gather.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kRows = 64, kWide = 8192, kNarrow = 32;

// `blocks` pairs of layers, to many units and back to few.
absl::StatusOr<Model> Pairs(int blocks, bool accuracy = false) {
  GraphBuilder b(Ops());
  ValueId x = b.Input("x", DType::kF32, {kRows, kNarrow});
  const ValueId labels = b.Input("labels", DType::kI32, {kRows});
  for (int i = 1; i <= blocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    const ValueId up = b.Relu(block + "/relu", b.MatMul(block + "/up", x, kWide));
    x = b.MatMul(block + "/down", up, kNarrow);
  }
  const ValueId logits = b.MatMul("logits", x, kWide);
  const ValueId loss = b.SoftmaxCrossEntropy("loss", logits, labels);
  Model model;
  if (accuracy) {
    ASSIGN_OR_RETURN(model.graph, b.Build(loss, {b.Accuracy("accuracy", logits, labels)}));
  } else {
    ASSIGN_OR_RETURN(model.graph, b.Build(loss));
  }
  model.learning_rate.base = 0.1;
  return model;
}

using Splits = std::vector<std::pair<std::string, std::string>>;

Strategy SplitBy(const Splits& splits) {
  Strategy strategy;
  strategy.mesh.axes = {{"model", 4}};
  for (const auto& [pattern, split] : splits) {
    strategy.ops.push_back({pattern, {{"model", AxisConfig{split, 0, {}}}}, {}});
  }
  return strategy;
}

absl::StatusOr<std::optional<AvoidableGather>> Find(const Model& model, const Strategy& strategy) {
  const auto compile = [&](const Strategy& other) { return MakeProgram(model, other, Ops()); };
  ASSIGN_OR_RETURN(const Program program, MakeProgram(model, strategy, Ops()));
  return FindAvoidableGather(model.graph, strategy, program, Ops(), compile);
}

// As "pattern split".
std::vector<std::string> EntriesOf(const AvoidableGather& gather) {
  std::vector<std::string> entries;
  for (const OpConfig& entry : gather.entries) entries.push_back(entry.pattern + " " + entry.axes.at("model").split);
  return entries;
}

TEST(AvoidableGather, OfLogitsForALoss) {
  ASSERT_OK_AND_ASSIGN(const Model model, Pairs(0));
  ASSERT_OK_AND_ASSIGN(const auto gather, Find(model, SplitBy({{"logits", "output_channels"}, {"loss", "replicate"}})));
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->value, "logits");
  EXPECT_EQ(EntriesOf(*gather), std::vector<std::string>{"loss classes"});
  EXPECT_EQ(gather->wire_bytes, 3 * kRows * kWide * 4);
  // The maxima and sums of the rows travel in its place, and the sum of the loss.
  EXPECT_EQ(gather->saved_bytes, gather->wire_bytes - 2 * 2 * 3 * kRows * 4 - 2 * 3 * 4);
}

TEST(AvoidableGather, OfAllBlocksAtOnce) {
  ASSERT_OK_AND_ASSIGN(const Model model, Pairs(3));
  ASSERT_OK_AND_ASSIGN(const auto gather, Find(model, SplitBy({{"block*/up", "output_channels"},
                                                               {"block*/down", "output_channels"},
                                                               {"logits", "output_channels"},
                                                               {"loss", "classes"}})));
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->value, "block*/relu");
  EXPECT_EQ(EntriesOf(*gather), std::vector<std::string>{"block*/down input_channels"});
  EXPECT_EQ(gather->wire_bytes, 3 * 3 * kRows * kWide * 4);
  EXPECT_GT(gather->saved_bytes, gather->wire_bytes);
}

// It has no split by classes: samples are cheaper than all of them on every rank.
TEST(AvoidableGather, OfLogitsForALossAndAnAccuracy) {
  ASSERT_OK_AND_ASSIGN(const Model model, Pairs(0, /*accuracy=*/true));
  ASSERT_OK_AND_ASSIGN(
      const auto gather,
      Find(model, SplitBy({{"logits", "output_channels"}, {"loss", "replicate"}, {"accuracy", "replicate"}})));
  ASSERT_TRUE(gather);
  EXPECT_EQ(EntriesOf(*gather), (std::vector<std::string>{"loss classes", "accuracy samples"}));
  EXPECT_GT(gather->saved_bytes, gather->wire_bytes / 2);
}

TEST(AvoidableGather, NoneWhereValuesAreReadInParts) {
  ASSERT_OK_AND_ASSIGN(const Model model, Pairs(2));
  ASSERT_OK_AND_ASSIGN(const auto gather, Find(model, SplitBy({{"block*/up", "output_channels"},
                                                               {"block*/down", "input_channels"},
                                                               {"logits", "output_channels"},
                                                               {"loss", "classes"}})));
  EXPECT_FALSE(gather) << gather->value;
}

// What the caller refuses is not proposed.
TEST(AvoidableGather, NoneThatIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Model model, Pairs(0));
  const Strategy strategy = SplitBy({{"logits", "output_channels"}, {"loss", "replicate"}});
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, strategy, Ops()));
  int asked = 0;
  const auto refuse = [&](const Strategy&) -> absl::StatusOr<Program> {
    ++asked;
    return absl::OutOfRangeError("slower");
  };
  ASSERT_OK_AND_ASSIGN(const auto gather, FindAvoidableGather(model.graph, strategy, program, Ops(), refuse));
  EXPECT_FALSE(gather);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace partita
