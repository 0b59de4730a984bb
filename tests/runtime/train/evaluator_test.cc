// What a test set's loss is: of means over samples, of terms that are none, of the user's weights; whatever the size of
// the set, of the batch and the split. And what is predicted of each of its samples.
#include "runtime/train/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/predictor.h"
#include "runtime/train/trainer.h"
#include "tests/runtime/train/lenet_fixture.h"
#include "tests/runtime/train/set_results_of.h"

namespace partita {
namespace {

constexpr int64_t kPixels = 12, kClasses = 4;

struct Loss {
  int64_t batch = 8;
  double sample_weight = 0;  // 0: none
  bool norm = false;         // the sum of squares of the weights comes to it
  bool accuracy = true;
};

// logits = images w
Model MakeModelOf(const Loss& loss) {
  const auto source = [](const std::string& name, const std::string& op, const Shape& shape, Attributes more) {
    more.Set("shape", shape);
    return NodeDescription{name, op, {}, std::move(more)};
  };
  std::vector<NodeDescription> nodes = {source("images", "input", {loss.batch, kPixels}, {}),
                                        source("labels", "input", {loss.batch}, {{"dtype", "i32"}}),
                                        source("w", "parameter", {kPixels, kClasses}, {{"initializer", "he_normal"}}),
                                        {"logits", "matmul", {"images", "w"}, {}},
                                        {"entropy", "softmax_cross_entropy", {"logits", "labels"}, {}},
                                        {"accuracy", "accuracy", {"logits", "labels"}, {}},
                                        {"squares", "mul", {"w", "w"}, {}},
                                        {"row", "reshape", {"squares"}, {{"shape", Shape{1, kPixels * kClasses}}}},
                                        source("ones", "constant", {kPixels * kClasses, 1}, {{"value", 1.0}}),
                                        {"sum", "matmul", {"row", "ones"}, {}},
                                        {"norm", "reshape", {"sum"}, {{"shape", Shape{}}}},
                                        {"both", "add", {"entropy", "norm"}, {}}};
  if (loss.sample_weight > 0) {
    nodes.push_back(source("weights", "constant", {loss.batch}, {{"value", loss.sample_weight}}));
    nodes[4].inputs.emplace_back("weights");
  }
  Model model;
  const std::vector<std::string> metrics =
      loss.accuracy ? std::vector<std::string>{"accuracy"} : std::vector<std::string>{};
  if (!loss.accuracy) nodes.erase(nodes.begin() + 5);
  model.graph = BuildGraph(nodes, loss.norm ? "both" : "entropy", metrics, Ops()).value();
  model.learning_rate.base = 0;
  return model;
}

// The same image so often.
std::shared_ptr<const BatchSource> Copies(int64_t count, int64_t batch, BatchMode mode) {
  ImageDataset set{count, {1, kPixels, 1}, kClasses, {}, {}};
  for (int64_t i = 0; i < count * kPixels; ++i) set.images.push_back(static_cast<uint8_t>(i % kPixels * 20));
  set.labels.assign(count, 2);
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = batch;
  options.normalization = NoNormalization(1);
  options.fields.weights = kSampleWeightName;
  return ImageBatches::Create(std::make_shared<ImageDataset>(std::move(set)), options).value();
}

std::unique_ptr<Session> Start(const Model& model, int ranks) {
  SessionOptions options;
  options.threads_per_rank = 1;
  const Strategy strategy = DataModelStrategy(model.graph, ranks, 1).value();
  const ProgramOptions program{.evaluated = SetResultsOf(model).reported, .verify_passes = true};
  return Session::Start(MakeProgram(model, strategy, Ops(), program).value(), options).value();
}

Evaluation Evaluate(const Loss& loss, int64_t samples, int ranks = 1) {
  const Model model = MakeModelOf(loss);
  const auto session = Start(model, ranks);
  return *EvaluateSet(*session, SetResultsOf(model), Copies(samples, loss.batch, BatchMode::kEvaluation), nullptr)
              .value();
}

// The weights are the same in every session: their initial values are.
TEST(TestLoss, DoesNotDependOnTheSizeOfTheSet) {
  const Loss loss{.norm = true};
  const double full = Evaluate(loss, 8).loss, entropy = Evaluate({}, 8).loss;
  EXPECT_GT(full, entropy + 1);
  for (const int64_t samples : {1, 5, 13, 16}) {
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << samples << " samples on " << ranks);
      const Evaluation evaluation = Evaluate(loss, samples, ranks);
      EXPECT_NEAR(evaluation.loss, full, 1e-5);
      EXPECT_NEAR(*MetricOf(evaluation.metrics, "accuracy"), *MetricOf(Evaluate(loss, 8).metrics, "accuracy"), 1e-6);
    }
  }
  EXPECT_NEAR(Evaluate({.batch = 3, .norm = true}, 8).loss, full, 1e-5);
}

TEST(TestLoss, IsWeighedAsTheTrainingLossIs) {
  const double plain = Evaluate({}, 8).loss;
  for (const int64_t samples : {1, 8, 13}) {
    for (const int ranks : {1, 2}) {
      EXPECT_NEAR(Evaluate({.sample_weight = 0.5}, samples, ranks).loss, plain / 2, 1e-5) << samples << " on " << ranks;
    }
  }
}

TEST(TestLoss, IsThatOfTrainingOnTheSameBatch) {
  for (const Loss& loss : {Loss{}, Loss{.sample_weight = 0.25}, Loss{.sample_weight = 3, .norm = true}}) {
    const Model model = MakeModelOf(loss);
    const auto session = Start(model, 1);
    TrainingData data{Copies(8, 8, BatchMode::kTraining), Copies(11, 8, BatchMode::kEvaluation), {}};
    data.set_results = SetResultsOf(model);
    TrainingResult result;
    ASSERT_TRUE(Train(*session, data, {}, result).ok());
    EXPECT_NEAR(*result.epochs[0].test_loss, result.epochs[0].loss, 1e-5);
    EXPECT_EQ(result.epochs[0].metrics[0].first, "accuracy");
  }
}

TEST(TestAccuracy, IsNoneOfAGraphWithoutOne) {
  const Loss loss{.accuracy = false};
  EXPECT_TRUE(Evaluate(loss, 8).metrics.empty());
  const Model model = MakeModelOf(loss);
  const auto session = Start(model, 1);
  TrainingData data{Copies(8, 8, BatchMode::kTraining), Copies(8, 8, BatchMode::kEvaluation), {}};
  data.set_results = SetResultsOf(model);
  TrainingResult result;
  ASSERT_TRUE(Train(*session, data, {}, result).ok());
  EXPECT_TRUE(result.epochs[0].metrics.empty());
  EXPECT_TRUE(result.epochs[0].test_metrics.empty());
  EXPECT_TRUE(result.epochs[0].test_loss.has_value());
}

// The loss is the sum of squares of what a product makes of images: it reads no sample's weight.
TEST(CheckLastBatch, WantsWholeBatchesWhereNothingWeighsSamples) {
  const auto shape = [](const Shape& sizes) { return Attributes{{"shape", sizes}}; };
  const auto named = [&](const Shape& sizes, const char* initializer) {
    return Attributes{{"shape", sizes}, {"initializer", std::string(initializer)}};
  };
  Model model;
  model.graph = BuildGraph({{"images", "input", {}, shape({8, kPixels})},
                            {"w", "parameter", {}, named({kPixels, 1}, "he_normal")},
                            {"logits", "matmul", {"images", "w"}, {}},
                            {"row", "reshape", {"logits"}, shape({1, 8})},
                            {"square", "matmul", {"row", "logits"}, {}},
                            {"loss", "reshape", {"square"}, shape({})}},
                           "loss", {}, Ops())
                    .value();
  const Program program = MakeProgram(model, {}, Ops(), {}).value();
  const EntryPoint& entry = *program.Find(kEvaluateEntry);
  const SetResults results = SetResultsOf(model);
  EXPECT_TRUE(CheckLastBatch(entry, results, *Copies(16, 8, BatchMode::kEvaluation)).ok());
  const absl::Status refused = CheckLastBatch(entry, results, *Copies(13, 8, BatchMode::kEvaluation));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(refused.message()).find("13 samples, no whole number of batches of 8; node 'loss'"),
            std::string::npos)
      << refused;
}

// A softmax over samples: rows that fill a batch up would change the others.
TEST(CheckLastBatch, WantsWholeBatchesWhereSamplesMix) {
  Model model;
  const auto shape = [](const Shape& sizes) { return Attributes{{"shape", sizes}}; };
  const Attributes turned{{"permutation", IntList{1, 0}}};
  model.graph = BuildGraph({{"images", "input", {}, shape({8, kPixels})},
                            {"labels", "input", {}, {{"shape", Shape{8}}, {"dtype", "i32"}}},
                            {"w", "parameter", {}, {{"shape", Shape{kPixels, kClasses}}, {"initializer", "he_normal"}}},
                            {"logits", "matmul", {"images", "w"}, {}},
                            {"columns", "transpose", {"logits"}, turned},
                            {"mixed", "softmax", {"columns"}, {}},
                            {"rows", "transpose", {"mixed"}, turned},
                            {"loss", "softmax_cross_entropy", {"rows", "labels"}, {}},
                            {"accuracy", "accuracy", {"logits", "labels"}, {}}},
                           "loss", {"accuracy"}, Ops())
                    .value();
  const Program program = MakeProgram(model, {}, Ops(), {}).value();
  const EntryPoint& entry = *program.Find(kEvaluateEntry);
  const SetResults results = SetResultsOf(model);
  EXPECT_TRUE(CheckLastBatch(entry, results, *Copies(16, 8, BatchMode::kEvaluation)).ok());
  const absl::Status refused = CheckLastBatch(entry, results, *Copies(13, 8, BatchMode::kEvaluation));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(refused.message()).find("node 'loss' mixes the samples of a batch"), std::string::npos)
      << refused;
}

TEST(EvaluateSet, CountsEverySampleOnceInAnyBatch) {
  std::vector<Evaluation> evaluations;
  for (const int64_t batch : {1, 4, 19, 32}) {
    Fixture fixture = Make(batch, 1, 1);
    evaluations.push_back(*EvaluateSet(*fixture.session, fixture.data.set_results, fixture.data.test, nullptr).value());
    EXPECT_NEAR(evaluations.back().loss, evaluations[0].loss, 1e-5);
    EXPECT_NEAR(*MetricOf(evaluations.back().metrics, "accuracy"), *MetricOf(evaluations[0].metrics, "accuracy"), 1e-6);
  }
  EXPECT_GT(evaluations[0].loss, 0);
}

// Counts the rows that are read of a set.
class CountedSet : public BatchSource {
 public:
  explicit CountedSet(std::shared_ptr<const BatchSource> set) : set_(std::move(set)) {}
  const std::vector<Field>& fields() const override { return set_->fields(); }
  int64_t samples() const override { return set_->samples(); }
  int64_t batch_rows() const override { return set_->batch_rows(); }
  int64_t batches_per_epoch() const override { return set_->batches_per_epoch(); }
  int64_t read() const { return read_; }

 private:
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    read_ += rows.size();
    return set_->Fill(batch, rows, out);
  }

  const std::shared_ptr<const BatchSource> set_;
  mutable std::atomic<int64_t> read_{0};
};

// In one walk, whose rows are those that predictions have and whose results are those without them.
TEST(EvaluateSet, ReportsValuesOfEverySampleInTheSameWalk) {
  const std::vector<std::string> values = {"classifier/bias", "labels"};
  for (const auto& [batch, data, model] : {std::tuple{5, 1, 1}, {8, 2, 1}, {7, 3, 1}, {8, 1, 2}}) {
    SCOPED_TRACE(testing::Message() << batch << " samples on " << data << " x " << model);
    Fixture plain = Make(batch, data, model, values), fixture = Make(batch, data, model);
    const Strategy strategy = DataModelStrategy(fixture.model.graph, data, model).value();
    SessionOptions options;
    options.threads_per_rank = 1;
    fixture.session =
        Session::Start(
            MakeProgram(fixture.model, strategy, Ops(), {.evaluated = values, .verify_passes = true}).value(), options)
            .value();
    const auto once = std::make_shared<CountedSet>(plain.data.test);
    const auto set = std::make_shared<CountedSet>(fixture.data.test);
    const Evaluation expected = *EvaluateSet(*plain.session, plain.data.set_results, once, nullptr).value();
    const int64_t rows_of_a_walk = once->read();
    const Predictions predictions = **PredictSet(*plain.session, plain.data.test, nullptr);
    int64_t next = 0;
    std::vector<std::vector<char>> rows(values.size());
    const TakeValues take = [&](int64_t first, int64_t samples, const std::vector<HostTensor>& reported) {
      EXPECT_EQ(first, next);
      next += samples;
      for (size_t v = 0; v < rows.size(); ++v) {
        const auto bytes = static_cast<int64_t>(reported[v].bytes.size()) / reported[v].shape[0] * samples;
        rows[v].insert(rows[v].end(), reported[v].bytes.begin(), reported[v].bytes.begin() + bytes);
      }
      return absl::OkStatus();
    };
    const Evaluation evaluation = *EvaluateSet(*fixture.session, fixture.data.set_results, set, nullptr, take).value();
    EXPECT_EQ(set->read(), rows_of_a_walk);
    EXPECT_EQ(next, kTestSamples);
    EXPECT_EQ(evaluation.loss, expected.loss);
    EXPECT_EQ(evaluation.metrics, expected.metrics);
    for (size_t v = 0; v < rows.size(); ++v) EXPECT_EQ(rows[v], predictions[v].bytes) << values[v];
  }
}

TEST(EvaluateSet, EndsWithTheErrorOfWhoTakesValues) {
  Fixture fixture = Make(8, 1, 1);
  int batches = 0;
  const TakeValues refuse = [&](int64_t, int64_t, const std::vector<HostTensor>& values) {
    EXPECT_TRUE(values.empty());
    return ++batches == 2 ? absl::InvalidArgumentError("enough") : absl::OkStatus();
  };
  const auto refused = EvaluateSet(*fixture.session, fixture.data.set_results, fixture.data.test, nullptr, refuse);
  EXPECT_EQ(refused.status(), absl::InvalidArgumentError("enough"));
  EXPECT_EQ(batches, 2);
}

// Predictions of a model under several splits, and what they say of the labels.
TEST(PredictSet, LogitsOfEverySampleOnceUnderAnySplit) {
  const auto predict = [](int64_t batch, int data, int model) {
    Fixture fixture = Make(batch, data, model, {"classifier/bias"});
    absl::StatusOr<std::optional<Predictions>> predictions = PredictSet(*fixture.session, fixture.data.test, nullptr);
    EXPECT_TRUE(predictions.ok()) << predictions.status();
    const Evaluation evaluation =
        *EvaluateSet(*fixture.session, fixture.data.set_results, fixture.data.test, nullptr).value();
    HostTensor logits = std::move((*predictions)->at(0));
    EXPECT_EQ(logits.shape, (Shape{kTestSamples, 10}));
    const std::vector<double> values = ToDoubles(logits);
    const ImageDataset set = MakeMockDataset(kTestSamples, {12, 12, 1}, 10, 2).value();
    int right = 0;
    for (int64_t sample = 0; sample < kTestSamples; ++sample) {
      const auto row = values.begin() + sample * 10;
      right += std::max_element(row, row + 10) - row == set.labels[sample];
    }
    EXPECT_NEAR(static_cast<double>(right) / kTestSamples, *MetricOf(evaluation.metrics, "accuracy"), 1e-6);
    return values;
  };
  const std::vector<double> serial = predict(8, 1, 1);
  for (const auto& [batch, data, model] : {std::tuple{5, 1, 1}, {8, 2, 1}, {7, 3, 1}, {8, 1, 2}, {9, 2, 2}}) {
    const std::vector<double> split = predict(batch, data, model);
    ASSERT_EQ(split.size(), serial.size());
    for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR(split[i], serial[i], 1e-4);
  }
}

}  // namespace
}  // namespace partita
