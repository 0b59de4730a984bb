// The training loop on made-up images: what it counts, when it ends, and that splits change nothing it reports.
#include "runtime/train/trainer.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/evaluator.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kTrainingSamples = 50;
constexpr int64_t kTestSamples = 19;

// A small model on data x model ranks, with its sets.
struct Fixture {
  Model model;
  ImageInputs inputs;
  TrainingData data;
  std::unique_ptr<Session> session;
};

std::shared_ptr<const BatchSource> Batches(int64_t samples, int64_t batch, BatchMode mode, uint64_t seed) {
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = batch;
  options.normalization = NoNormalization(1);
  auto set = std::make_shared<ImageDataset>(MakeMockDataset(samples, {12, 12, 1}, 10, seed).value());
  return ImageBatches::Create(std::move(set), options).value();
}

Fixture Make(int64_t batch, int data, int model) {
  Fixture fixture;
  fixture.model = MakeModel("lenet5", {.batch = batch, .image_size = 12}, Ops()).value();
  fixture.model.learning_rate.base = 0.01;
  fixture.model.learning_rate.steps = 100;
  fixture.inputs = FindImageInputs(fixture.model.graph).value();
  fixture.data.training = Batches(kTrainingSamples, batch, BatchMode::kTraining, 1);
  fixture.data.test = Batches(kTestSamples, batch, BatchMode::kEvaluation, 2);
  const Strategy strategy = DataModelStrategy(fixture.model.graph, data, model).value();
  SessionOptions options;
  options.threads_per_rank = 1;
  fixture.session = Session::Start(MakeProgram(fixture.model, strategy, Ops()).value(), options).value();
  return fixture;
}

TrainingResult TrainOn(Fixture& fixture, const TrainingOptions& options) {
  TrainingResult result;
  const absl::Status status = Train(*fixture.session, fixture.inputs, fixture.data, options, result);
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
  ASSERT_TRUE(result.epochs[1].test_accuracy.has_value());
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
  EXPECT_TRUE(result.epochs[1].test_accuracy.has_value());
}

TEST(Train, AStopEndsAfterTheStep) {
  Fixture fixture = Make(8, 1, 1);
  std::atomic<int> stop{0};
  TrainingOptions options;
  options.epochs = 1000;
  options.stop = &stop;
  options.progress_seconds = 0;
  options.on_progress = [&](const Progress& progress) {
    if (progress.step == 9) stop.store(2);
  };
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_NE(result.stopped_by, 0);
  EXPECT_EQ(result.steps, 9);
  EXPECT_FALSE(result.epochs.back().test_accuracy.has_value());
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
    EXPECT_NEAR(*result.epochs[0].test_accuracy, *expected.test_accuracy, 1e-6);
    for (size_t g = 0; g < result.traffic.size(); ++g) {
      const MoveBytes predicted = split.session->PredictedBytes(Entry::kTrain)[g];
      EXPECT_EQ(result.traffic[g].bytes, (MoveBytes{5 * predicted.payload, 5 * predicted.wire}));
    }
  }
}

TEST(EvaluateSet, CountsEverySampleOnceInAnyBatch) {
  std::vector<Evaluation> evaluations;
  for (const int64_t batch : {1, 4, 19, 32}) {
    Fixture fixture = Make(batch, 1, 1);
    evaluations.push_back(*EvaluateSet(*fixture.session, fixture.inputs, fixture.data.test, nullptr).value());
    EXPECT_NEAR(evaluations.back().loss, evaluations[0].loss, 1e-5);
    EXPECT_NEAR(evaluations.back().accuracy, evaluations[0].accuracy, 1e-6);
  }
  EXPECT_GT(evaluations[0].loss, 0);
}

TEST(CheckTraffic, SeesAStepThatWasNotForeseen) {
  Fixture fixture = Make(8, 2, 1);
  TrainingOptions options;
  options.steps = 2;
  ASSERT_EQ(TrainOn(fixture, options).steps, 2);
  fixture.session->ResetCounters();
  EXPECT_TRUE(CheckTraffic(*fixture.session, Entry::kTrain, 0).ok());
  EXPECT_EQ(CheckTraffic(*fixture.session, Entry::kTrain, 1).code(), absl::StatusCode::kInternal);
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
