// A session that trains LeNet-5 on made-up images of 12 x 12 pixels.
#ifndef PARTITA_TESTS_RUNTIME_TRAIN_LENET_FIXTURE_H_
#define PARTITA_TESTS_RUNTIME_TRAIN_LENET_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/trainer.h"
#include "tests/runtime/train/set_results_of.h"
#include "tools/models/models.h"

namespace partita {

inline constexpr int64_t kTrainingSamples = 50, kTestSamples = 19;

// A small model on data x model ranks, with its sets.
struct Fixture {
  Model model;
  TrainingData data;
  std::unique_ptr<Session> session;
};

inline std::shared_ptr<const BatchSource> Batches(int64_t samples, int64_t batch, BatchMode mode, uint64_t seed) {
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = batch;
  options.normalization = NoNormalization(1);
  options.fields.weights = kSampleWeightName;
  auto set = std::make_shared<ImageDataset>(MakeMockDataset(samples, {12, 12, 1}, 10, seed).value());
  return ImageBatches::Create(std::move(set), options).value();
}

inline Fixture Make(int64_t batch, int data, int model, const std::vector<std::string>& predictions = {}) {
  Fixture fixture;
  fixture.model = MakeModel("lenet5", {.batch = batch, .image_size = 12}, Ops()).value();
  fixture.model.learning_rate.base = 0.01;
  fixture.model.learning_rate.steps = 100;
  fixture.data.training = Batches(kTrainingSamples, batch, BatchMode::kTraining, 1);
  fixture.data.test = Batches(kTestSamples, batch, BatchMode::kEvaluation, 2);
  fixture.data.set_results = SetResultsOf(fixture.model);
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

inline TrainingResult TrainOn(Fixture& fixture, const TrainingOptions& options) {
  TrainingResult result;
  const absl::Status status = Train(*fixture.session, fixture.data, options, result);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_TRAIN_LENET_FIXTURE_H_
