// Pictures that travel as bytes and become numbers in the step: the bits of those that the host normalises, at a
// quarter of the bytes on the way.
#include <gtest/gtest.h>

#include <map>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "ops/values/pixel_scale.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/predictor.h"
#include "runtime/train/trainer.h"
#include "tests/runtime/train/set_results_of.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8, kSide = 12, kChannels = 3;
constexpr int64_t kPixels = kSide * kSide * kChannels;

struct Run {
  TrainingResult result;
  std::vector<HostTensor> states, predictions;
  int64_t input_bytes = 0, batch_bytes = 0;  // planned, of all ranks; in the parts of a batch that is ready
};

std::shared_ptr<const BatchSource> Batches(const std::shared_ptr<const ImageDataset>& set, BatchMode mode,
                                           const Normalization& normalization, bool bytes, DType floating) {
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = kBatch;
  options.normalization = normalization;
  if (mode == BatchMode::kTraining) options.augmentation = {2, Border::kZero, true};
  options.fields.pixels = bytes ? DType::kU8 : floating;
  options.fields.floating = floating;
  options.fields.weights = kSampleWeightName;
  return ImageBatches::Create(set, options).value();
}

int64_t BatchBytes(const Session& session, const std::shared_ptr<const BatchSource>& source) {
  const BatchFeed feed = BatchFeed::Create(session, kTrainEntry, source).value();
  const std::unique_ptr<Prefetcher> prefetcher = feed.Prefetch(0, 1).value();
  std::map<const std::byte*, size_t> fields;  // ranks that need the same rows share them
  for (const BatchPart& part : (*prefetcher->Next())->parts) {
    for (const auto& field : part.fields) fields[field.data()] = field.size();
  }
  int64_t bytes = 0;
  for (const auto& [where, size] : fields) bytes += static_cast<int64_t>(size);
  return bytes;
}

// Two epochs of mini-inception; of a batch's last rows there are no samples in the test set.
Run TrainOn(const Strategy& strategy, bool bytes, ProgramOptions options) {
  Model model = MakeModel("mini-inception",
                          {.batch = kBatch,
                           .image_size = kSide,
                           .channel_limit = 4,
                           .statistics_samples = kBatch / 2,
                           .image_channels = kChannels},
                          Ops())
                    .value();
  model.learning_rate.steps = 10;
  const auto set =
      std::make_shared<const ImageDataset>(MakeMockDataset(3 * kBatch + 3, {kSide, kSide, kChannels}, 10, 7).value());
  const Normalization normalization = MeasureNormalization(*set);
  const DType floating = options.floating;
  TrainingData data{Batches(set, BatchMode::kTraining, normalization, bytes, floating),
                    Batches(set, BatchMode::kEvaluation, normalization, bytes, floating),
                    "",
                    {},
                    {}};
  data.set_results = SetResultsOf(model);
  if (bytes) {
    options.given["images"] = {DType::kU8, "pixels", PixelAttributes(normalization.mean, normalization.deviation)};
  }
  options.predictions = {
      model.graph.value(model.graph.node(model.graph.value(model.graph.loss).producer).inputs[0]).name};
  options.verify_passes = true;
  SessionOptions session_options;
  session_options.threads_per_rank = 1;
  const std::unique_ptr<Session> session =
      Session::Start(MakeProgram(model, strategy, Ops(), options).value(), session_options).value();
  Run run;
  TrainingOptions training;
  training.epochs = 2;
  EXPECT_OK(Train(*session, data, training, run.result));
  for (const State& state : session->program().state_graph().states()) {
    run.states.push_back(session->ReadState(session->program().state_graph().value(state.value).name).value());
  }
  run.predictions = **PredictSet(*session, data.test, nullptr);
  for (int rank = 0; rank < session->ranks(); ++rank)
    run.input_bytes += session->schedule(kTrainEntry, rank).memory.inputs;
  run.batch_bytes = BatchBytes(*session, data.training);
  return run;
}

void ExpectSameBits(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t t = 0; t < found.size(); ++t) {
    EXPECT_EQ(found[t].shape, expected[t].shape);
    EXPECT_EQ(found[t].bytes, expected[t].bytes) << t;
  }
}

// Of a program whose ranks together stage and prefetch each pixel once.
void ExpectBytesDoAsWell(const Strategy& strategy, const ProgramOptions& options = {}) {
  const Run numbers = TrainOn(strategy, /*bytes=*/false, options), bytes = TrainOn(strategy, /*bytes=*/true, options);
  ASSERT_EQ(bytes.result.epochs.size(), 2u);
  for (size_t e = 0; e < 2; ++e) {
    EXPECT_EQ(bytes.result.epochs[e].loss, numbers.result.epochs[e].loss);
    EXPECT_EQ(bytes.result.epochs[e].test_loss, numbers.result.epochs[e].test_loss);
    EXPECT_EQ(bytes.result.epochs[e].test_metrics, numbers.result.epochs[e].test_metrics);
  }
  ExpectSameBits(bytes.states, numbers.states);
  ExpectSameBits(bytes.predictions, numbers.predictions);
  ASSERT_EQ(bytes.result.traffic.size(), numbers.result.traffic.size());
  for (size_t g = 0; g < numbers.result.traffic.size(); ++g) {
    EXPECT_EQ(bytes.result.traffic[g].bytes.wire, numbers.result.traffic[g].bytes.wire);
  }
  const int64_t less = kBatch * kPixels * (SizeOf(options.floating) - 1);
  EXPECT_EQ(numbers.batch_bytes - bytes.batch_bytes, less);
  EXPECT_EQ(numbers.input_bytes - bytes.input_bytes, less);
}

TEST(Pixels, OfOneRank) { ExpectBytesDoAsWell({}); }

TEST(Pixels, OfRanksWithSamplesOfTheirOwn) {
  const Model model =
      MakeModel("mini-inception", {.batch = kBatch, .image_size = kSide, .image_channels = kChannels}, Ops()).value();
  ExpectBytesDoAsWell(DataModelStrategy(model.graph, 2, 1).value());
}

// Ranks that hold half of the rows of every picture: each prefetches whole rows of the batch and stages its box.
TEST(Pixels, OfRanksWithRowsOfTheirOwn) {
  Strategy strategy;
  strategy.mesh.axes = {{"height", 2}};
  strategy.ops.push_back({"images", {{"height", {"height", 0, {}}}}, {}});
  ExpectBytesDoAsWell(strategy);
}

TEST(Pixels, InMicroBatches) {
  Strategy strategy;
  strategy.pipeline.micro_batches = 2;
  ExpectBytesDoAsWell(strategy);
}

TEST(Pixels, InF64) { ExpectBytesDoAsWell({}, {.floating = DType::kF64}); }

TEST(Pixels, InMixedPrecision) { ExpectBytesDoAsWell({}, {.mix_precision = true}); }

}  // namespace
}  // namespace partita
