// Training on batches of several sizes: each goes to the entry point of its size, over the same states, and trains what
// the batch padded to the largest size trains, under every split. Built twice, as
// tests/runtime/api/steps_in_flight_test.cc: for ranks on the host, and (FAR_GPU) for ranks on a GPU made of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "graph/read/model_entries.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/philox.h"
#include "runtime/train/predictor.h"
#include "runtime/train/trainer.h"
#include "tests/runtime/train/set_results_of.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

#ifdef FAR_GPU
constexpr bool kFarGpu = true;
#else
constexpr bool kFarGpu = false;
#endif

constexpr int64_t kRows = 8, kPlaces = 5, kWords = 11, kBatches = 5;
const std::vector<int64_t> kSizes = {2, 3, kPlaces};  // places of the buckets

// Words that follow words; in a padded one every batch has the largest size.
class Sequences : public BatchSource {
 public:
  explicit Sequences(bool padded, std::vector<int64_t> sizes = kSizes) : padded_(padded), sizes_(std::move(sizes)) {
    if (padded) sizes_ = {kPlaces};
    for (const int64_t places : sizes_) {
      fields_.push_back({{"words", DType::kI32, {places}},
                         {"next", DType::kI32, {places}},
                         {"weights", DType::kF64, {places}},
                         {kSampleWeightName, DType::kF64, {}}});
    }
  }

  const std::vector<Field>& fields() const override { return fields_.back(); }
  int64_t samples() const override { return kBatches * kRows; }
  int64_t batch_rows() const override { return kRows; }
  int64_t batches_per_epoch() const override { return kBatches; }
  std::string word_weights() const override { return "weights"; }
  int64_t buckets() const override { return static_cast<int64_t>(sizes_.size()); }
  int64_t bucket(int64_t batch) const override { return padded_ ? 0 : SizeOf(batch); }
  const std::vector<Field>& fields_of(int64_t bucket) const override { return fields_[bucket]; }

 private:
  static int64_t SizeOf(int64_t batch) { return batch % kBatches * 2 % static_cast<int64_t>(kSizes.size()); }

  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    const int64_t places = fields_of(bucket(batch))[0].row[0], of = kSizes[SizeOf(batch)];
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t first = (row - rows.begin) * places, length = 1 + (row + batch) % of;
      for (int64_t place = 0; place < places; ++place) {
        const bool there = place < length;
        Write(out[0], first + place, there ? Word(batch, row, place) : 0);
        Write(out[1], first + place, there ? Word(batch, row, place + 1) : 0);
        Write(out[2], first + place, there ? 1.0 : 0.0);
      }
      Write(out[3], row - rows.begin, 1.0);
    }
    return absl::OkStatus();
  }

  static int32_t Word(int64_t batch, int64_t row, int64_t place) {
    const auto index = static_cast<uint64_t>((batch * kRows + row) * (kPlaces + 1) + place);
    return 1 + static_cast<int32_t>(Uniform(PhiloxKey(7, "words"), 0, index) * static_cast<float>(kWords - 1));
  }

  template <typename T>
  static void Write(std::span<std::byte> to, int64_t place, T value) {
    std::memcpy(to.data() + place * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }

  const bool padded_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<Field>> fields_;
};

std::string NameOf(int64_t places) { return fmt::format("places_{}", places); }

// A recurrent layer between a table and a classifier; every word counts the same.
Model MakeModel(bool sizes, double rate = 0.05) {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kRows, kPlaces});
  const ValueId next = b.Input("next", DType::kI32, {kRows, kPlaces});
  const ValueId weights = b.Input("weights", DType::kF32, {kRows, kPlaces});
  const ValueId shares = b.Add("shares", "over", {weights, b.Add("real", "sum", {weights})});
  const ValueId table = b.Parameter("table", {kWords, 6}, "uniform", 0.5);
  const ValueId read = b.Add("read", "embedding", {table, words}, {{"row_gradients", true}});
  const ValueId recurrent = b.Parameter("recurrent", {4, 16}, "uniform", 0.5);
  const ValueId h = b.Add("lstm", "lstm", {b.Dense("gates", read, 16), recurrent});
  const ValueId logits = b.Dense("classifier", h, kWords);
  const Attributes summed = {{"reduction", "sum"}};
  const ValueId accuracy = b.Add("accuracy", "accuracy", {logits, next, shares}, summed);
  Model model;
  model.graph = b.Build(b.Add("loss", "softmax_cross_entropy", {logits, next, shares}, summed), {accuracy}).value();
  model.optimizer = {"adam", {}, 1.0};
  model.optimizer.average = MovingAverage{0.9, "*", false};
  model.learning_rate.base = rate;
  if (!sizes) return model;
  std::vector<ModelEntry> entries;
  for (const int64_t places : kSizes) {
    if (places == kPlaces) continue;
    entries.push_back({NameOf(places), {{"words", {places}}, {"next", {places}}, {"weights", {places}}}, {}, {}});
  }
  const absl::Status added = AddEntries(std::move(entries), {}, Ops(), model);
  EXPECT_TRUE(added.ok()) << added;
  return model;
}

std::unique_ptr<Session> Start(const Model& model, const Strategy& strategy,
                               const std::vector<std::string>& predictions = {}) {
  SessionOptions options;
  options.threads_per_rank = 1;
  options.seed = 3;
  if (kFarGpu) options.device.gpu = 0;
  ProgramOptions program{.floating = DType::kF64,
                         .predictions = predictions,
                         .evaluated = SetResultsOf(model).reported,
                         .verify_passes = true};
  auto made = MakeProgram(model, strategy, Ops(), program);
  EXPECT_TRUE(made.ok()) << made.status();
  auto session = Session::Start(*std::move(made), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

TrainingData DataOf(bool padded) {
  const auto set = std::make_shared<Sequences>(padded);
  TrainingData data{set, set, ""};
  data.set_results = SetResultsOf(MakeModel(!padded));
  return data;
}

TrainingResult TrainOn(Session& session, bool padded, const TrainingOptions& options = {.epochs = 2}) {
  TrainingResult result;
  const absl::Status status = Train(session, DataOf(padded), options, result);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

double Difference(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != DType::kF64) return a.bytes == b.bytes ? 0 : 1;
  double most = 0;
  for (size_t at = 0; at < a.bytes.size(); at += sizeof(double)) {
    double x = 0, y = 0;
    std::memcpy(&x, a.bytes.data() + at, sizeof(x));
    std::memcpy(&y, b.bytes.data() + at, sizeof(y));
    most = std::max(most, std::abs(x - y));
  }
  return most;
}

void ExpectSameStates(const Session& session, const Session& as, double tolerance) {
  ASSERT_EQ(session.StateNames(), as.StateNames());
  for (const std::string& name : as.StateNames()) {
    ASSERT_OK_AND_ASSIGN(const HostTensor state, session.ReadState(name));
    ASSERT_OK_AND_ASSIGN(const HostTensor expected, as.ReadState(name));
    EXPECT_LE(Difference(state, expected), tolerance) << name;
  }
}

TEST(Buckets, TrainWhatPaddedBatchesTrain) {
  const auto sized = Start(MakeModel(true), Strategy{}), padded = Start(MakeModel(false), Strategy{});
  const TrainingResult result = TrainOn(*sized, false), expected = TrainOn(*padded, true);
  EXPECT_EQ(result.steps_of, (EntrySteps{{"train", 4}, {"train/places_2", 4}, {"train/places_3", 2}}));
  EXPECT_EQ(expected.steps_of, (EntrySteps{{"train", 2 * kBatches}}));
  ExpectSameStates(*sized, *padded, 1e-12);
  ASSERT_EQ(result.epochs.size(), 2u);
  for (size_t e = 0; e < 2; ++e) {
    EXPECT_NEAR(result.epochs[e].loss, expected.epochs[e].loss, 1e-12);
    EXPECT_NEAR(*result.epochs[e].test_loss, *expected.epochs[e].test_loss, 1e-12);
    EXPECT_NEAR(*MetricOf(result.epochs[e].test_metrics, "perplexity"),
                *MetricOf(expected.epochs[e].test_metrics, "perplexity"), 1e-11);
  }
  EXPECT_LT(*result.epochs[1].test_loss, *result.epochs[0].test_loss);
}

Strategy Stages(int64_t micro_batches) {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", 2}};
  strategy.pipeline = {micro_batches, "stage", PipelineOrder::kOneForwardOneBackward};
  for (const char* const pattern : {"classifier*", "loss", "accuracy"}) {
    strategy.ops.push_back({pattern, {{"stage", {"at", 1, {}}}}, {}});
  }
  strategy.ops.push_back({"*", {{"stage", {"at", 0, {}}}}, {}});
  return strategy;
}

struct Split {
  std::string name;
  std::function<Strategy(const Graph&)> strategy;
};
void PrintTo(const Split& split, std::ostream* out) { *out << split.name; }

class BucketSplits : public testing::TestWithParam<Split> {};

TEST_P(BucketSplits, GoTheWayOfOneRank) {
  const Model model = MakeModel(true);
  const auto serial = Start(model, Strategy{}), split = Start(model, GetParam().strategy(model.graph));
  const TrainingResult expected = TrainOn(*serial, false), result = TrainOn(*split, false);
  EXPECT_NEAR(result.epochs[1].loss, expected.epochs[1].loss, 1e-10);
  EXPECT_NEAR(*result.epochs[1].test_loss, *expected.epochs[1].test_loss, 1e-10);
  ExpectSameStates(*split, *serial, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(
    Splits, BucketSplits,
    testing::Values(Split{"Data4", [](const Graph& graph) { return DataModelStrategy(graph, 4, 1).value(); }},
                    Split{"Data3", [](const Graph& graph) { return DataModelStrategy(graph, 3, 1).value(); }},
                    Split{"Data2Model2", [](const Graph& graph) { return DataModelStrategy(graph, 2, 2).value(); }},
                    Split{"Stages2MicroBatches2", [](const Graph&) { return Stages(2); }},
                    Split{"Stages2MicroBatches4", [](const Graph&) { return Stages(4); }}),
    [](const auto& one) { return one.param.name; });

TEST(Buckets, AddNoByteOfStates) {
  const auto sized = Start(MakeModel(true), Strategy{}), alone = Start(MakeModel(false), Strategy{});
  int64_t largest = 0;
  for (const EntryPoint& entry : sized->program().entries) {
    const MemoryUse& memory = sized->schedule(entry.name, 0).memory;
    EXPECT_EQ(memory.parameters, alone->PlannedMemory(0).parameters) << entry.name;
    EXPECT_EQ(memory.states, alone->PlannedMemory(0).states) << entry.name;
    largest = std::max(largest, memory.total);
  }
  EXPECT_EQ(sized->program().entries.size(), 2 * kSizes.size());
  EXPECT_EQ(sized->PlannedMemory(0).total, largest);
  if (!kFarGpu) {  // several streams and their workspaces need no less for less
    EXPECT_EQ(sized->PlannedMemory(0).total, alone->PlannedMemory(0).total);
    EXPECT_LT(sized->schedule("train/places_2", 0).memory.total, largest);
  }
  ASSERT_OK_AND_ASSIGN(const Program own, MakeProgram(MakeModel(true), Strategy{}, Ops(), {.entries = false}));
  EXPECT_EQ(own.entries.size(), 2u) << "who does not ask has the graph's own sizes";
}

// In the middle of an epoch: the next batch is of another size than the first one.
TEST(Buckets, AreGoneOnWithWhereARunEnded) {
  const Model model = MakeModel(true);
  const auto whole = Start(model, Strategy{}), first = Start(model, Strategy{}), second = Start(model, Strategy{});
  TrainOn(*whole, false);
  const TrainingResult begun = TrainOn(*first, false, {.epochs = 2, .steps = 3});
  for (const std::string& name : first->StateNames()) {
    ASSERT_OK_AND_ASSIGN(const HostTensor state, first->ReadState(name));
    ASSERT_OK(second->WriteState(name, {state.dtype, state.shape, state.bytes.data()}));
  }
  TrainOn(*second, false, {.epochs = 2, .first_step = 3, .first_epoch = begun.open_epoch});
  ExpectSameStates(*second, *whole, 0);
}

// The batch that is diagnosed is staged where its size is.
TEST(Buckets, SayWhereAStepWentWrong) {
  // Behind a step any two weights of one sign have no finite sum.
  const auto session = Start(MakeModel(true, 1.7e308), Strategy{});
  TrainingResult result;
  const absl::Status status = Train(*session, DataOf(false), {.epochs = 3}, result);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr(kFarGpu ? "the loss is" : "the first value that is not finite is"));
}

TEST(Buckets, WithoutASizeAreRefused) {
  const auto session = Start(MakeModel(true), Strategy{});
  const auto other = std::make_shared<Sequences>(false, std::vector<int64_t>{2, 4, kPlaces});
  TrainingResult result;
  const absl::Status status = Train(*session, {other, nullptr, ""}, {}, result);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("bucket 1 of the data"));
}

TEST(Buckets, HaveNoOrderForPredictions) {
  const auto session = Start(MakeModel(true), Strategy{}, {"classifier/bias"});
  const auto refused = PredictSet(*session, std::make_shared<Sequences>(false), nullptr);
  EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr("3 buckets"));
  EXPECT_TRUE(PredictSet(*session, std::make_shared<Sequences>(true), nullptr).ok());
}

}  // namespace
}  // namespace partita
