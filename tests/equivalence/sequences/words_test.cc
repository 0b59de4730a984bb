// A small model of sequences of words: two embeddings that share a table, layers on every place, and a loss over the
// words that follow, of which some are padding. Under splits of samples, places, channels, rows of the table and
// classes, on stages, it goes the way of one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8, kPlaces = 5, kWords = 11, kChannels = 6;
constexpr int kSteps = 4;

// `by_rows`: the table's gradient is rows.
absl::StatusOr<Model> MakeModel(bool by_rows = false, const Optimizer& optimizer = {"adagrad", {}}) {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, kPlaces});
  const ValueId topics = b.Input("topics", DType::kI32, {kSamples, kPlaces});
  const ValueId next = b.Input("next", DType::kI32, {kSamples, kPlaces});
  const ValueId weights = b.Input("weights", DType::kF32, {kSamples, kPlaces});
  const ValueId shares = b.Add("shares", "over", {weights, b.Add("real", "sum", {weights})});
  const ValueId table = b.Parameter("table", {kWords, kChannels}, "uniform", 0.5);
  const ValueId word =
      b.Add("word", "embedding", {table, words}, {{"padding_row", int64_t{0}}, {"row_gradients", by_rows}});
  const ValueId topic = b.Add("topic", "embedding", {table, topics}, {{"row_gradients", by_rows}});
  const ValueId x = b.Add("tanh", "tanh", {b.Dense("layer", b.Add("both", "add", {word, topic}), kChannels)});
  const ValueId logits = b.Dense("classifier", x, kWords);
  Model model;
  const Attributes summed = {{"reduction", "sum"}}, smoothed = {{"label_smoothing", 0.1}, {"reduction", "sum"}};
  const ValueId accuracy = b.Add("accuracy", "accuracy", {logits, next, shares}, summed);
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.Add("loss", "softmax_cross_entropy", {logits, next, shares}, smoothed), {accuracy}));
  model.optimizer = optimizer;
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

// Whether the gradient of the table is rows.
class WordModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(ByRows, WordModel, testing::Bool());

TEST_P(WordModel, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(GetParam()));
  for (const auto& [data, split] : {std::pair{4, 1}, {1, 2}, {2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = GoesTheWayOfOneRank(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

using Splits = std::vector<std::pair<std::string, std::string>>;

// What single nodes are split by over an axis of three, beside samples over one of two.
TEST_P(WordModel, GoTheWayOfOneRankUnderSplitsOfTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(GetParam()));
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

TEST_P(WordModel, GoTheWayOfOneRankInMicroBatchesOnStages) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(GetParam()));
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

// With a loss over the word that follows and six others.
absl::StatusOr<Model> MakeSampledModel() {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, kPlaces});
  const ValueId next = b.Input("next", DType::kI32, {kSamples, kPlaces});
  const ValueId table = b.Parameter("table", {kWords, kChannels}, "uniform", 0.5);
  const ValueId read = b.Add("read", "embedding", {table, words}, {{"row_gradients", true}});
  const ValueId x = b.Add("tanh", "tanh", {b.Dense("layer", read, kChannels)});
  const ValueId weights = b.Parameter("softmax/weights", {2 * kWords, kChannels}, "uniform", 0.5);
  const ValueId bias = b.Parameter("softmax/bias", {2 * kWords}, "uniform", 0.1);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "sampled_softmax_cross_entropy", {x, weights, bias, next},
                                              {{"samples", int64_t{6}}})));
  model.optimizer = {"adagrad", {}};
  model.learning_rate.base = 0.1;
  return model;
}

std::map<std::string, HostTensor> SampledBatchOf(int step) {
  return {{"words", Words(1, step)}, {"next", Words(3, step)}};
}

TEST(SampledSoftmax, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSampledModel());
  const std::vector<std::pair<std::string, std::string>> splits = {
      {"none", ""}, {"loss", "dimension1"}, {"softmax/weights", "dimension0"}, {"softmax/weights", "dimension1"}};
  for (const auto& [node, split] : splits) {
    for (const int64_t micro_batches : {1, 2}) {
      Strategy strategy;
      strategy.mesh = {{{"data", 2}, {"model", 2}}};
      strategy.pipeline.micro_batches = micro_batches;
      if (!split.empty()) strategy.ops.push_back({node, {{"model", AxisConfig{split, 0, {}}}}, {}});
      strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
      const absl::Status status = RunSideBySide(model, strategy, kSteps, SampledBatchOf);
      EXPECT_TRUE(status.ok()) << node << " by " << split << " " << micro_batches << ": " << status;
    }
  }
}

// Evaluation computes all classes, and of them the loss as it is.
TEST(SampledSoftmax, IsEvaluatedOverAllClasses) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSampledModel());
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, Strategy{}));
  const auto has = [&](const std::string& entry, const std::string& op) {
    const std::vector<Node>& nodes = program.graph(entry).nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return node.op->name == op; });
  };
  EXPECT_TRUE(has(kTrainEntry, "sampled_cross_entropy") && has(kTrainEntry, "adagrad_rows"));
  EXPECT_FALSE(has(kTrainEntry, "softmax_cross_entropy"));
  EXPECT_TRUE(has(kEvaluateEntry, "softmax_cross_entropy"));
  EXPECT_FALSE(has(kEvaluateEntry, "log_uniform_ids"));
}

std::map<std::string, std::vector<double>> StatesAfter(const Model& model, const Strategy& strategy) {
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  absl::StatusOr<Program> program = StepOf(model, strategy);
  CHECK(program.ok());
  const auto session = Session::Start(*std::move(program), options).value();
  for (int step = 0; step < kSteps; ++step) {
    for (const auto& [name, tensor] : BatchOf(step)) CHECK(session->StageInput(kTrainEntry, name, tensor).ok());
    CHECK(session->Train().ok());
  }
  std::map<std::string, std::vector<double>> states;
  for (const std::string& name : session->StateNames()) {
    const HostTensor state = session->ReadState(name).value();
    if (state.dtype != DType::kF64) continue;
    states[name].resize(state.bytes.size() / sizeof(double));
    std::memcpy(states[name].data(), state.bytes.data(), state.bytes.size());
  }
  return states;
}

// Duplicates are added up before they are squared, the padding row stays, and a norm over all gradients clips both.
TEST(RowGradients, GiveWhatDenseOnesGive) {
  Optimizer clipped{"sgd", {}}, scaled{"sgd", {}};
  clipped.clip_norm = scaled.clip_norm = 0.05;
  scaled.groups = {{"table", 1, {{"gradient_scale", 3.0}}}};
  for (const Optimizer& optimizer : {Optimizer{"sgd", {}}, Optimizer{"adagrad", {}}, clipped, scaled}) {
    ASSERT_OK_AND_ASSIGN(const Model dense, MakeModel(false, optimizer));
    ASSERT_OK_AND_ASSIGN(const Model by_rows, MakeModel(true, optimizer));
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(by_rows.graph, 2, 1));
    const auto expected = StatesAfter(dense, Strategy{});
    EXPECT_GE(expected.size(), 5U);
    for (const auto& found : {StatesAfter(by_rows, Strategy{}), StatesAfter(by_rows, strategy)}) {
      for (const auto& [name, values] : expected) {
        const std::vector<double>& own = found.at(name);
        ASSERT_EQ(own.size(), values.size()) << name;
        for (size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(own[i], values[i], 1e-12) << name << " " << i;
      }
    }
  }
}

// What Adagrad makes of s g beside an accumulator that begins at 1 it makes of g beside one that begins at 1 / s^2.
TEST(RowGradients, MayBeScaled) {
  Optimizer scaled{"adagrad", {{"initial_accumulator", 1.0}, {"epsilon", 0.0}}}, begun = scaled;
  scaled.groups = {{"*", 1, {{"gradient_scale", 20.0}}}};
  begun.attributes.Set("initial_accumulator", 1 / 400.0);
  ASSERT_OK_AND_ASSIGN(const Model of_scaled, MakeModel(true, scaled));
  ASSERT_OK_AND_ASSIGN(const Model of_begun, MakeModel(true, begun));
  const auto found = StatesAfter(of_scaled, Strategy{}), expected = StatesAfter(of_begun, Strategy{});
  for (const char* const name : {"table", "layer/matmul/weights", "classifier/bias/values"}) {
    const std::vector<double>&own = found.at(name), &other = expected.at(name);
    for (size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(own[i], other[i], 1e-12) << name << " " << i;
  }
}

// Ids and rows travel, and nothing of the size of the table.
TEST(RowGradients, MoveIdsAndRows) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(true));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 1));
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  const LayerBytes bytes = BytesOfLayers(program);
  constexpr int64_t kReadings = kSamples * kPlaces;  // of which each of two ranks sends half
  for (const char* const ids : {"words", "topics"}) EXPECT_EQ(bytes.at({"all_gather", ids}), kReadings * 4) << ids;
  for (const auto& [moved, wire] : bytes) EXPECT_NE(moved.second, "table");
  int64_t rows = 0;
  for (const auto& [moved, wire] : bytes) rows += moved.first == "all_gather" ? wire : 0;
  EXPECT_EQ(rows, 2 * kReadings * 4 + kReadings * kChannels * 8);  // both embeddings have one cotangent
}

std::string RefusalOf(const Model& model) { return std::string(StepOf(model, Strategy{}).status().message()); }

TEST(RowGradients, AreRefusedWhereTheyCannotBe) {
  ASSERT_OK_AND_ASSIGN(const Model decayed, MakeModel(true, {"sgd", {{"weight_decay", 0.1}}}));
  EXPECT_NE(RefusalOf(decayed).find("node 'table': weight_decay is 0.1"), std::string::npos) << RefusalOf(decayed);
  ASSERT_OK_AND_ASSIGN(const Model momentum, MakeModel(true, {"sgd", {{"momentum", 0.9}}}));
  EXPECT_NE(
      RefusalOf(momentum).find("node 'table': row_gradients is true, and the update of the table is 'sgd_momentum'; "
                               "expected 'sgd' or 'adam' or 'adagrad'"),
      std::string::npos)
      << RefusalOf(momentum);
  GraphBuilder b(Ops());
  const ValueId ids = b.Input("ids", DType::kI32, {4});
  const ValueId table = b.Parameter("table", {5, 3}, "uniform");
  const ValueId read = b.Add("read", "embedding", {table, ids}, {{"row_gradients", true}});
  Model tied;
  ASSERT_OK_AND_ASSIGN(tied.graph,
                       b.Build(b.Add("loss", "sum", {b.Add("y", "matmul", {read, table}, {{"transpose_w", true}})})));
  EXPECT_NE(RefusalOf(tied).find("node 'table': row_gradients need all readers of 'table' to be embeddings"),
            std::string::npos)
      << RefusalOf(tied);
}

}  // namespace
}  // namespace partita
