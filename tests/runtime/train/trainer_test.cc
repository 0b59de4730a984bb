// The training loop on made-up images: what it counts, when it ends, and that splits change nothing it reports.
#include "runtime/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/predictor.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kTrainingSamples = 50;
constexpr int64_t kTestSamples = 19;

// A small model on data x model ranks, with its sets.
struct Fixture {
  Model model;
  TrainingData data;
  std::unique_ptr<Session> session;
};

std::shared_ptr<const BatchSource> Batches(int64_t samples, int64_t batch, BatchMode mode, uint64_t seed) {
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = batch;
  options.normalization = NoNormalization(1);
  options.fields.weights = kSampleWeightName;
  auto set = std::make_shared<ImageDataset>(MakeMockDataset(samples, {12, 12, 1}, 10, seed).value());
  return ImageBatches::Create(std::move(set), options).value();
}

Fixture Make(int64_t batch, int data, int model, const std::vector<std::string>& predictions = {}) {
  Fixture fixture;
  fixture.model = MakeModel("lenet5", {.batch = batch, .image_size = 12}, Ops()).value();
  fixture.model.learning_rate.base = 0.01;
  fixture.model.learning_rate.steps = 100;
  fixture.data.training = Batches(kTrainingSamples, batch, BatchMode::kTraining, 1);
  fixture.data.test = Batches(kTestSamples, batch, BatchMode::kEvaluation, 2);
  const Strategy strategy = DataModelStrategy(fixture.model.graph, data, model).value();
  SessionOptions options;
  options.threads_per_rank = 1;
  fixture.session =
      Session::Start(
          MakeProgram(fixture.model, strategy, Ops(), {.predictions = predictions, .verify_passes = true}).value(),
          options)
          .value();
  return fixture;
}

TrainingResult TrainOn(Fixture& fixture, const TrainingOptions& options) {
  TrainingResult result;
  const absl::Status status = Train(*fixture.session, fixture.data, options, result);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

TEST(Train, WalksEpochsAndDropsThePartialBatch) {
  Fixture fixture = Make(8, 1, 1);
  int seen = 0;
  TrainingOptions options;
  options.epochs = 2;
  options.on_epoch = [&](const EpochResult& epoch) { EXPECT_EQ(epoch.epoch, ++seen); };
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(result.steps, 2 * (kTrainingSamples / 8));
  EXPECT_EQ(result.samples, result.steps * 8);
  EXPECT_EQ(result.stopped_by, 0);
  EXPECT_LT(result.epochs[1].loss, result.epochs[0].loss + 0.1);
  ASSERT_TRUE(MetricOf(result.epochs[1].test_metrics, "accuracy").has_value());
  EXPECT_GT(result.data_wait_seconds, 0);  // at least for the first batch
  EXPECT_LT(result.data_wait_seconds, result.seconds);
}

TEST(Train, WithoutATestSetNothingIsEvaluated) {
  Fixture fixture = Make(8, 1, 1);
  fixture.data.test = nullptr;
  const TrainingResult result = TrainOn(fixture, {});
  EXPECT_EQ(result.steps, kTrainingSamples / 8);
  EXPECT_FALSE(result.epochs[0].test_loss.has_value());
  EXPECT_TRUE(MetricOf(result.epochs[0].metrics, "accuracy").has_value());
}

TEST(Train, StepsEndARunWithinAnEpoch) {
  Fixture fixture = Make(8, 1, 1);
  TrainingOptions options;
  options.epochs = 3;
  options.steps = 8;
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_EQ(result.steps, 8);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_EQ(result.epochs[1].steps, 2);
  EXPECT_TRUE(result.epochs[1].test_loss.has_value());
}

// That is the one which runs while the step before is reported.
TEST(Train, AStopEndsAfterTheStepInFlight) {
  Fixture fixture = Make(8, 1, 1);
  std::atomic<int> stop{0};
  TrainingOptions options;
  options.epochs = 1000;
  options.stop = &stop;
  options.progress_seconds = 0;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_TRUE(MetricOf(progress.metrics, "accuracy").has_value());
    if (progress.step == 9) stop.store(2);
  };
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_NE(result.stopped_by, 0);
  EXPECT_EQ(result.steps, 10);
  EXPECT_FALSE(result.epochs.back().test_loss.has_value());
  EXPECT_TRUE(result.epochs.back().test_metrics.empty());
}

using StateValues = std::vector<std::pair<std::string, HostTensor>>;

StateValues StatesOf(const Session& session) {
  StateValues states;
  for (const std::string& name : session.StateNames()) states.emplace_back(name, session.ReadState(name).value());
  return states;
}

void SetStates(const StateValues& states, Session& session) {
  for (const auto& [name, value] : states) ASSERT_TRUE(session.WriteState(name, value).ok());
}

// To the bit.
TEST(Train, AnEpochThatIsGoneOnWithTellsTheMeanOfAllOfIt) {
  Fixture whole = Make(8, 2, 1), rest = Make(8, 2, 1);
  StateValues states;
  TrainingOptions onward;
  TrainingOptions options;
  options.epochs = onward.epochs = 2;
  options.pauses.next = [](int64_t step) { return step < 8 ? 8 - step : 0; };
  options.pauses.on_steps = [&](int64_t step, const LossSums& epoch) {
    EXPECT_EQ(epoch.steps, 2);
    onward.first_step = step;
    onward.first_epoch = epoch;
    states = StatesOf(*whole.session);
    return absl::OkStatus();
  };
  const EpochResult expected = TrainOn(whole, options).epochs[1];
  ASSERT_EQ(onward.first_step, 8);
  SetStates(states, *rest.session);
  const TrainingResult result = TrainOn(rest, onward);
  ASSERT_EQ(result.epochs.size(), 1u);
  EXPECT_EQ(result.epochs[0].epoch, 2);
  EXPECT_EQ(result.epochs[0].steps, 4);
  EXPECT_EQ(result.epochs[0].loss, expected.loss);
  EXPECT_EQ(result.epochs[0].metrics, expected.metrics);
  EXPECT_EQ(result.epochs[0].test_loss, expected.test_loss);
  EXPECT_EQ(result.open_epoch, LossSums());
}

TEST(Train, AnEpochThatWasStoppedBeforeItsEvaluationIsGoneOnWithByThat) {
  Fixture whole = Make(8, 1, 1), stopped = Make(8, 1, 1);
  const EpochResult expected = TrainOn(whole, {}).epochs[0];
  std::atomic<int> stop{0};
  int steps = 0;
  TrainingOptions options;
  options.stop = &stop;
  options.on_step = [&] { stop.store(++steps == 5 ? 2 : stop.load()); };  // the 6th, the epoch's last one, has begun
  const TrainingResult result = TrainOn(stopped, options);
  ASSERT_EQ(result.open_epoch.steps, 6);
  EXPECT_FALSE(result.epochs[0].test_loss.has_value());
  TrainingOptions onward;
  onward.first_step = result.steps;
  onward.first_epoch = result.open_epoch;
  const TrainingResult rest = TrainOn(stopped, onward);
  ASSERT_EQ(rest.epochs.size(), 1u);
  EXPECT_EQ(rest.epochs[0].epoch, 1);
  EXPECT_EQ(rest.steps, 0);
  EXPECT_EQ(rest.epochs[0].loss, expected.loss);
  EXPECT_EQ(rest.epochs[0].test_loss, expected.test_loss);
}

TEST(Train, SumsOfOtherMetricsAreRefused) {
  Fixture fixture = Make(8, 1, 1);
  TrainingOptions options;
  options.first_epoch = {.steps = 1, .loss = 2, .metrics = {{"something", 1}}};
  TrainingResult result;
  EXPECT_EQ(Train(*fixture.session, fixture.data, options, result).code(), absl::StatusCode::kInvalidArgument);
}

// Each when it is due, both at one step in their order.
TEST(Together, CallsBoth) {
  const auto every = [](int64_t period, std::string name, std::string& calls) {
    TrainingPauses pauses;
    pauses.next = [period](int64_t step) { return step < 12 ? period - step % period : 0; };
    pauses.on_steps = [name, &calls](int64_t step, const LossSums&) {
      calls += name + std::to_string(step) + " ";
      return absl::OkStatus();
    };
    return pauses;
  };
  std::string calls;
  const TrainingPauses both = Together(every(3, "a", calls), every(4, "b", calls));
  for (int64_t step = 0, next = both.next(step).value(); next > 0; next = both.next(step).value()) {
    step += next;
    ASSERT_TRUE(both.on_steps(step, {}).ok());
  }
  EXPECT_EQ(calls, "a3 b4 a6 b8 a9 a12 b12 ");
  EXPECT_EQ(Together({}, {}).next(0).value(), 0);
}

// Images of one batch are no numbers.
class BrokenBatch : public BatchSource {
 public:
  BrokenBatch(std::shared_ptr<const BatchSource> source, int64_t broken)
      : source_(std::move(source)), broken_(broken) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  int64_t samples() const override { return source_->samples(); }
  int64_t batch_rows() const override { return source_->batch_rows(); }
  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    const absl::Status status = source_->Fill(batch, rows, out);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (size_t f = 0; batch == broken_ && f < out.size(); ++f) {
      if (fields()[f].dtype != DType::kF32) continue;
      for (size_t i = 0; i < out[f].size(); i += sizeof(float)) std::memcpy(out[f].data() + i, &nan, sizeof(float));
    }
    return status;
  }

 private:
  const std::shared_ptr<const BatchSource> source_;
  const int64_t broken_;
};

// As if its batch were not in the set; the iteration counts it, so that a run which goes on there is the same.
TEST(Train, AStepThatIsNotAppliedIsLeftOutWithinABudget) {
  for (const auto& [broken, data, model] : {std::tuple{3, 1, 1}, {3, 2, 2}, {0, 1, 1}, {5, 2, 1}}) {
    SCOPED_TRACE(testing::Message() << "batch " << broken << " on " << data << " x " << model);
    Fixture fixture = Make(8, data, model), good = Make(8, data, model);
    const std::shared_ptr<const BatchSource> source = fixture.data.training;
    fixture.data.training = std::make_shared<BrokenBatch>(source, broken);
    TrainingOptions options;
    options.steps = 6;
    options.skip_budget = 1;
    std::vector<int64_t> skipped;
    options.on_skip = [&](int64_t step, const absl::Status& why) {
      skipped.push_back(step);
      EXPECT_THAT(std::string(why.message()), testing::HasSubstr("the first value that is not finite is '"));
    };
    TrainingResult result;
    const absl::Status status = Train(*fixture.session, fixture.data, options, result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(skipped, std::vector<int64_t>{broken + 1});
    EXPECT_EQ(result.steps, 6);
    EXPECT_EQ(result.skipped_steps, 1);
    EXPECT_EQ(result.samples, 5 * 8);
    TrainingOptions before, behind;
    before.steps = broken;
    if (broken > 0) TrainOn(good, before);
    HostTensor iteration = good.session->ReadState(kIterationName).value();
    const int32_t done = broken + 1;
    std::memcpy(iteration.bytes.data(), &done, sizeof(done));
    ASSERT_TRUE(good.session->WriteState(kIterationName, iteration).ok());
    behind.first_step = done;
    behind.steps = 6;
    if (done < 6) TrainOn(good, behind);
    for (const std::string& name : good.session->StateNames()) {
      EXPECT_EQ(fixture.session->ReadState(name)->bytes, good.session->ReadState(name)->bytes) << name;
    }
    fixture = Make(8, data, model);
    fixture.data.training =
        std::make_shared<BrokenBatch>(std::make_shared<BrokenBatch>(source, broken), (broken + 2) % 6);
    result = {};
    EXPECT_EQ(Train(*fixture.session, fixture.data, options, result).code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(result.skipped_steps, 1);
  }
}

// In the middle of an epoch, and as its first and last step; the states are those of the steps before.
TEST(Train, AStepThatIsNotAppliedEndsTheRunWithItsDiagnosis) {
  for (const auto& [broken, data, model] : {std::tuple{3, 1, 1}, {3, 2, 2}, {0, 1, 1}, {5, 2, 1}}) {
    SCOPED_TRACE(testing::Message() << "batch " << broken << " on " << data << " x " << model);
    Fixture fixture = Make(8, data, model), good = Make(8, data, model);
    fixture.data.training = std::make_shared<BrokenBatch>(fixture.data.training, broken);
    TrainingResult result;
    const absl::Status status = Train(*fixture.session, fixture.data, {}, result);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    const std::string message(status.message());
    EXPECT_THAT(message, testing::HasSubstr("step " + std::to_string(broken + 1) + ":"));
    EXPECT_THAT(message, testing::HasSubstr("the first value that is not finite is '"));
    EXPECT_EQ(result.steps, broken);
    TrainingOptions options;
    options.steps = broken;
    if (broken > 0) TrainOn(good, options);
    for (const std::string& name : good.session->StateNames()) {
      EXPECT_EQ(fixture.session->ReadState(name)->bytes, good.session->ReadState(name)->bytes) << name;
    }
  }
}

TEST(Train, SplitsReportWhatOneRankReports) {
  Fixture serial = Make(7, 1, 1);
  TrainingOptions options;
  options.steps = 5;
  const EpochResult expected = TrainOn(serial, options).epochs[0];
  for (const auto& [data, model] : {std::pair{2, 1}, {1, 2}, {2, 2}, {3, 1}}) {
    SCOPED_TRACE(testing::Message() << data << " x " << model);
    Fixture split = Make(7, data, model);
    const TrainingResult result = TrainOn(split, options);
    EXPECT_NEAR(result.epochs[0].loss, expected.loss, 1e-4);
    EXPECT_NEAR(*result.epochs[0].test_loss, *expected.test_loss, 1e-4);
    EXPECT_NEAR(*MetricOf(result.epochs[0].test_metrics, "accuracy"), *MetricOf(expected.test_metrics, "accuracy"),
                1e-6);
    for (size_t g = 0; g < result.traffic.size(); ++g) {
      const MoveBytes predicted = split.session->PredictedBytes(kTrainEntry)[g];
      EXPECT_EQ(result.traffic[g].bytes, (MoveBytes{5 * predicted.payload, 5 * predicted.wire}));
    }
  }
}

TEST(EvaluateSet, CountsEverySampleOnceInAnyBatch) {
  std::vector<Evaluation> evaluations;
  for (const int64_t batch : {1, 4, 19, 32}) {
    Fixture fixture = Make(batch, 1, 1);
    evaluations.push_back(*EvaluateSet(*fixture.session, fixture.data.test, nullptr).value());
    EXPECT_NEAR(evaluations.back().loss, evaluations[0].loss, 1e-5);
    EXPECT_NEAR(*MetricOf(evaluations.back().metrics, "accuracy"), *MetricOf(evaluations[0].metrics, "accuracy"), 1e-6);
  }
  EXPECT_GT(evaluations[0].loss, 0);
}

// Predictions of a model under several splits, and what they say of the labels.
TEST(PredictSet, LogitsOfEverySampleOnceUnderAnySplit) {
  const auto predict = [](int64_t batch, int data, int model) {
    Fixture fixture = Make(batch, data, model, {"classifier/bias"});
    absl::StatusOr<std::optional<Predictions>> predictions = PredictSet(*fixture.session, fixture.data.test, nullptr);
    EXPECT_TRUE(predictions.ok()) << predictions.status();
    const Evaluation evaluation = *EvaluateSet(*fixture.session, fixture.data.test, nullptr).value();
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

TEST(BatchFeed, AnInputThatNoFieldFillsIsNamed) {
  Fixture fixture = Make(8, 1, 1);
  ImageBatchOptions options;
  options.batch_rows = 8;
  options.normalization = NoNormalization(1);
  const auto refusal = [&](ImageFields fields, ImageShape shape) {
    options.fields = std::move(fields);
    auto set = std::make_shared<ImageDataset>(MakeMockDataset(16, shape, 10, 1).value());
    return std::string(BatchFeed::Create(*fixture.session, kTrainEntry, ImageBatches::Create(set, options).value())
                           .status()
                           .message());
  };
  EXPECT_THAT(refusal({"imagse"}, {12, 12, 1}), testing::HasSubstr("input 'images' f32[8,12,12,1]: the data has no such"
                                                                   " field; did you mean 'imagse'?"));
  EXPECT_THAT(refusal({"images", "labels", "weights", DType::kF64}, {12, 12, 1}),
              testing::HasSubstr("input 'images' is f32[8,12,12,1]; the data's field of that name has f64[12,12,1]"));
  EXPECT_THAT(refusal({}, {12, 11, 1}), testing::HasSubstr("has f32[12,11,1] in each row"));
  EXPECT_EQ(refusal({}, {12, 12, 1}), "");
}

TEST(CheckTraffic, SeesAStepThatWasNotForeseen) {
  Fixture fixture = Make(8, 2, 1);
  TrainingOptions options;
  options.steps = 2;
  ASSERT_EQ(TrainOn(fixture, options).steps, 2);
  fixture.session->ResetCounters();
  EXPECT_TRUE(CheckTraffic(*fixture.session, {}).ok());
  EXPECT_EQ(CheckTraffic(*fixture.session, {{kTrainEntry, 1}}).code(), absl::StatusCode::kInternal);
}

TEST(SetScheduleLength, LeavesALengthThatTheModelHas) {
  LearningRate rate;
  SetScheduleLength(12, rate);
  EXPECT_EQ(rate.steps, 12);
  SetScheduleLength(13, rate);
  EXPECT_EQ(rate.steps, 12);
}

}  // namespace
}  // namespace partita
