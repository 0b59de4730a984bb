// A small model of sequences of words: two embeddings that share a table, layers on every place, and a loss over the
// words that follow, of which some are padding. Under splits of samples, places, channels, rows of the table and
// classes, on stages, it goes the way of one rank.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8, kPlaces = 5, kWords = 11, kChannels = 6;
constexpr int kSteps = 4;

absl::StatusOr<Model> MakeModel() {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, kPlaces});
  const ValueId topics = b.Input("topics", DType::kI32, {kSamples, kPlaces});
  const ValueId next = b.Input("next", DType::kI32, {kSamples, kPlaces});
  const ValueId weights = b.Input("weights", DType::kF32, {kSamples, kPlaces});
  const ValueId shares = b.Add("shares", "over", {weights, b.Add("real", "sum", {weights})});
  const ValueId table = b.Parameter("table", {kWords, kChannels}, "uniform", 0.5);
  const ValueId word = b.Add("word", "embedding", {table, words}, {{"padding_row", int64_t{0}}});
  const ValueId topic = b.Add("topic", "embedding", {table, topics});
  const ValueId x = b.Add("tanh", "tanh", {b.Dense("layer", b.Add("both", "add", {word, topic}), kChannels)});
  const ValueId logits = b.Dense("classifier", x, kWords);
  Model model;
  const Attributes summed = {{"reduction", "sum"}}, smoothed = {{"label_smoothing", 0.1}, {"reduction", "sum"}};
  const ValueId accuracy = b.Add("accuracy", "accuracy", {logits, next, shares}, summed);
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.Add("loss", "softmax_cross_entropy", {logits, next, shares}, smoothed), {accuracy}));
  model.optimizer = {"adagrad", {}};
  model.learning_rate.base = 0.1;
  return model;
}

HostTensor Words(int64_t seed, int step) {
  HostTensor words = SmallLabels(kSamples * kPlaces, kWords, static_cast<int>(seed) * 100 + step);
  words.shape = {kSamples, kPlaces};
  return words;
}

// A sample's places from one on are padding.
HostTensor Weights(int step) {
  const HostTensor lengths = SmallLabels(kSamples, kPlaces + 3, step);
  HostTensor weights{DType::kF64, {kSamples, kPlaces}, std::vector<char>(kSamples * kPlaces * sizeof(double))};
  for (int64_t i = 0; i < kSamples * kPlaces; ++i) {
    int32_t length = 0;
    std::memcpy(&length, lengths.bytes.data() + i / kPlaces * 4, sizeof(length));
    const double weight = i % kPlaces <= length ? 1 : 0;
    std::memcpy(weights.bytes.data() + i * 8, &weight, sizeof(weight));
  }
  return weights;
}

std::map<std::string, HostTensor> BatchOf(int step) {
  return {{"words", Words(1, step)}, {"topics", Words(2, step)}, {"next", Words(3, step)}, {"weights", Weights(step)}};
}

absl::Status GoesTheWayOfOneRank(const Model& model, const Strategy& strategy) {
  return RunSideBySide(model, strategy, kSteps, BatchOf);
}

TEST(Words, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const auto& [data, split] : {std::pair{4, 1}, {1, 2}, {2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = GoesTheWayOfOneRank(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

using Splits = std::vector<std::pair<std::string, std::string>>;

// What single nodes are split by over an axis of three, beside samples over one of two.
TEST(Words, GoTheWayOfOneRankUnderSplitsOfTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  const std::vector<Splits> strategies = {{{"word", "rows"}, {"topic", "rows"}},
                                          {{"word", "rows"}, {"loss", "classes"}},
                                          {{"word", "channels"}, {"layer/matmul", "input_channels"}},
                                          {{"topic", "dimension1"}, {"classifier/matmul", "output_channels"}},
                                          {{"table", "dimension0"}}};
  for (const Splits& splits : strategies) {
    for (const int data : {1, 2}) {
      Strategy strategy;
      strategy.mesh = {{{"data", data}, {"model", 3}}};
      for (const auto& [node, split] : splits) {
        strategy.ops.push_back({node, {{"model", AxisConfig{split, 0, {}}}}, {}});
      }
      strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
      const absl::Status status = GoesTheWayOfOneRank(model, strategy);
      EXPECT_TRUE(status.ok()) << splits[0].first << " by " << splits[0].second << " " << data << ": " << status;
    }
  }
}

TEST(Words, GoTheWayOfOneRankInMicroBatchesOnStages) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const int64_t micro_batches : {1, 4}) {
    Strategy strategy;
    strategy.mesh.axes = {{"stage", 2}};
    if (micro_batches > 1) strategy.pipeline = {micro_batches, "stage", PipelineOrder::kOneForwardOneBackward};
    for (const char* const pattern : {"classifier*", "loss", "accuracy"}) {
      strategy.ops.push_back({pattern, {{"stage", {"at", 1, {}}}}, {}});
    }
    strategy.ops.push_back({"*", {{"stage", {"at", 0, {}}}}, {}});
    const absl::Status status = GoesTheWayOfOneRank(model, strategy);
    EXPECT_TRUE(status.ok()) << micro_batches << ": " << status;
  }
}

}  // namespace
}  // namespace partita
