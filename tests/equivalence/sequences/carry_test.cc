// A small language model whose two LSTMs go on, in each batch, where the batch before ended. Under splits of samples,
// micro-batches and stages it goes the way of one rank; what it carries is that of one long sequence; evaluation and
// steps that are not applied leave what training carries.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <string>
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

constexpr int64_t kSamples = 8, kPlaces = 4, kWords = 11, kUnits = 5, kProjected = 3;
constexpr int kSteps = 4;

ValueId Lstm(GraphBuilder& b, const std::string& name, ValueId x, int64_t outputs) {
  const ValueId g = b.Dense(name + "/input", x, 4 * kUnits, "glorot_uniform");
  const ValueId w = b.Parameter(name + "/recurrent", {outputs, 4 * kUnits}, "glorot_uniform");
  const ValueId projection =
      outputs == kUnits ? kNoValue : b.Parameter(name + "/projection", {kUnits, outputs}, "glorot_uniform");
  return b.Add(name, "lstm", {g, w, projection}, {{"forget_bias", 1.0}, {"carry", true}});
}

absl::StatusOr<Model> MakeModel(int64_t places = kPlaces, double dropout = 0.2) {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, places});
  const ValueId next = b.Input("next", DType::kI32, {kSamples, places});
  const ValueId weights = b.Input("weights", DType::kF32, {kSamples, places});
  const ValueId table = b.Parameter("table", {kWords, kProjected}, "uniform", 0.5);
  ValueId x = b.Add("read", "embedding", {table, words}, {{"row_gradients", true}});
  x = Lstm(b, "lstm1", x, kProjected);
  if (dropout > 0) x = b.Dropout("dropout", x, dropout);
  const ValueId logits = b.Dense("classifier", Lstm(b, "lstm2", x, kUnits), kWords);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "softmax_cross_entropy", {logits, next, weights})));
  model.optimizer = {"adagrad", {}};
  model.optimizer.clip_norm = 1;
  model.learning_rate.base = 0.1;
  return model;
}

// Words of places [first, first + places) of long sequences, and those that follow.
std::map<std::string, HostTensor> Places(int64_t first, int64_t places, double weight = 1) {
  const auto word = [](int64_t n, int64_t t) { return static_cast<int32_t>((3 * n + 5 * t * t + t) % kWords); };
  HostTensor words{DType::kI32, {kSamples, places}, std::vector<char>(kSamples * places * 4)}, next = words;
  HostTensor weights{DType::kF64, {kSamples, places}, std::vector<char>(kSamples * places * 8)};
  for (int64_t i = 0; i < kSamples * places; ++i) {
    const int64_t n = i / places, t = first + i % places;
    const int32_t own = word(n, t), following = word(n, t + 1);
    std::memcpy(words.bytes.data() + i * 4, &own, 4);
    std::memcpy(next.bytes.data() + i * 4, &following, 4);
    std::memcpy(weights.bytes.data() + i * 8, &weight, 8);
  }
  return {{"words", words}, {"next", next}, {"weights", weights}};
}

std::map<std::string, HostTensor> BatchOf(int step) { return Places(step * kPlaces, kPlaces); }

absl::Status GoesTheWayOfOneRank(const Model& model, const Strategy& strategy) {
  return RunSideBySide(model, strategy, kSteps, BatchOf);
}

TEST(CarriedState, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const auto& [data, split] : {std::pair{2, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = GoesTheWayOfOneRank(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

TEST(CarriedState, GoesTheWayOfOneRankInMicroBatches) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const auto& [data, parts] : {std::pair{1, 2}, {1, 4}, {2, 2}, {2, 4}}) {
    ASSERT_OK_AND_ASSIGN(Strategy strategy, DataModelStrategy(model.graph, data, 1));
    strategy.pipeline.micro_batches = parts;
    const absl::Status status = GoesTheWayOfOneRank(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " ranks, " << parts << " micro-batches: " << status;
  }
}

// The layers on two stages, alone and in two replicas.
TEST(CarriedState, GoesTheWayOfOneRankOnStages) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const int data : {1, 2}) {
    for (const int64_t parts : {1, 2, 4}) {
      Strategy strategy;
      strategy.mesh.axes = {{"data", data}, {"stage", 2}};
      if (parts > 1) strategy.pipeline = {parts, "stage", PipelineOrder::kOneForwardOneBackward};
      const AxisConfig samples{"samples", 0, {}};
      for (const char* const pattern : {"lstm2*", "classifier*", "loss"}) {
        strategy.ops.push_back({pattern, {{"data", samples}, {"stage", {"at", 1, {}}}}, {}});
      }
      strategy.ops.push_back({"*", {{"data", samples}, {"stage", {"at", 0, {}}}}, {}});
      const absl::Status status = GoesTheWayOfOneRank(model, strategy);
      EXPECT_TRUE(status.ok()) << data << " replicas, " << parts << " micro-batches: " << status;
    }
  }
}

// Where samples are split, and nothing else is, each rank carries its own: nothing travels.
TEST(CarriedState, LiesWhereItsSamplesDo) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 1));
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  for (const char* const name : {"lstm1@h", "lstm1@c", "lstm2@h@evaluation", "lstm2@c@evaluation"}) {
    const Graph& graph = program.graph(kTrainEntry);
    EXPECT_EQ(ToString(graph.layout(graph.Find(name)), graph.mesh()), "{data:S0 model:R}") << name;
  }
  for (const auto& [moved, wire] : BytesOfLayers(program)) {
    EXPECT_FALSE(moved.first == "all_gather" && moved.second.starts_with("lstm")) << moved.second;
  }
}

absl::StatusOr<std::unique_ptr<Session>> Start(const Model& model) {
  ASSIGN_OR_RETURN(Program program, StepOf(model, Strategy{}));
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  return Session::Start(std::move(program), options);
}

absl::StatusOr<double> Step(Session& session, const char* entry, const std::map<std::string, HostTensor>& batch) {
  for (const auto& [name, tensor] : batch) RETURN_IF_ERROR(session.StageInput(entry, name, tensor));
  if (std::string(entry) == kEvaluateEntry) {
    const std::vector<double> ones(kSamples, 1);
    const ConstTensor weights{DType::kF64, {kSamples}, ones.data()};
    RETURN_IF_ERROR(session.StageInput(entry, "@sample_weight", weights));
  }
  ASSIGN_OR_RETURN(const StepResult result,
                   std::string(entry) == kEvaluateEntry ? session.Evaluate() : session.Train());
  return result.loss;
}

// Three batches of four places each are one of twelve.
TEST(CarriedState, IsThatOfOneLongSequence) {
  ASSERT_OK_AND_ASSIGN(const Model in_parts, MakeModel());
  ASSERT_OK_AND_ASSIGN(const Model whole, MakeModel(3 * kPlaces));
  ASSERT_OK_AND_ASSIGN(const auto parts, Start(in_parts));
  ASSERT_OK_AND_ASSIGN(const auto long_ones, Start(whole));
  double mean = 0;
  for (int64_t part = 0; part < 3; ++part) {
    ASSERT_OK_AND_ASSIGN(const double loss, Step(*parts, kEvaluateEntry, Places(part * kPlaces, kPlaces)));
    mean += loss / 3;
  }
  ASSERT_OK_AND_ASSIGN(const double expected, Step(*long_ones, kEvaluateEntry, Places(0, 3 * kPlaces)));
  EXPECT_NEAR(mean, expected, 1e-12);
  for (const char* const name : {"lstm1@h@evaluation", "lstm2@c@evaluation"}) {
    ASSERT_OK_AND_ASSIGN(const HostTensor of_parts, parts->ReadState(name));
    ASSERT_OK_AND_ASSIGN(const HostTensor of_whole, long_ones->ReadState(name));
    const size_t count = of_whole.bytes.size() / sizeof(double);
    for (size_t i = 0; i < count; ++i) {
      double own = 0, other = 0;
      std::memcpy(&own, of_parts.bytes.data() + i * sizeof(double), sizeof(double));
      std::memcpy(&other, of_whole.bytes.data() + i * sizeof(double), sizeof(double));
      ASSERT_NEAR(own, other, 1e-12) << name << " " << i;
      ASSERT_NE(own, 0) << name << " " << i;
    }
  }
}

TEST(CarriedState, OfTrainingIsLeftByEvaluationAndByStepsThatAreNotApplied) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const auto session, Start(model));
  ASSERT_OK(Step(*session, kTrainEntry, BatchOf(0)).status());
  ASSERT_OK_AND_ASSIGN(const HostTensor h, session->ReadState("lstm2@h"));
  ASSERT_OK_AND_ASSIGN(const HostTensor c, session->ReadState("lstm1@c"));
  ASSERT_OK(Step(*session, kEvaluateEntry, BatchOf(1)).status());
  const auto infinite = Places(0, kPlaces, std::numeric_limits<double>::infinity());
  EXPECT_EQ(Step(*session, kTrainEntry, infinite).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(session->ReadState("lstm2@h")->bytes, h.bytes);
  EXPECT_EQ(session->ReadState("lstm1@c")->bytes, c.bytes);
  ASSERT_OK(Step(*session, kTrainEntry, BatchOf(1)).status());
  EXPECT_NE(session->ReadState("lstm2@h")->bytes, h.bytes);
}

TEST(CarriedState, IsNotBegunTwice) {
  GraphBuilder b(Ops());
  const ValueId g = b.Input("g", DType::kF32, {2, 3, 8});
  const ValueId h0 = b.Input("h0", DType::kF32, {2, 2});
  const ValueId w = b.Parameter("w", {2, 8}, "glorot_uniform");
  b.Add("lstm", "lstm", {g, w, kNoValue, h0}, {{"carry", true}});
  EXPECT_EQ(std::string(b.status().message()),
            "node 'lstm' (lstm): attribute carry is true, so sequences begin where those of the step before ended; "
            "input h0 must be absent");
}

}  // namespace
}  // namespace partita
