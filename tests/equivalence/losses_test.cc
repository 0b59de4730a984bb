// Several losses with weights: an auxiliary head, a regression and the norm of a weight beside the classifier. Under
// splits of samples, channels and rows, on stages and on branches the graph goes the way of one rank; what it minimises
// is the weighted sum, to the derivative; what is of training alone is in no other entry point.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
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

constexpr int64_t kSamples = 8, kClasses = 5;
constexpr int kSteps = 5;
const Shape kImages = {kSamples, 6, 6, 2};
const std::map<std::string, double> kWeights = {
    {"loss", 1}, {"aux/loss", 0.3}, {"brightness/loss", 0.7}, {"norm", -1e-2}};

// Of the pixels of an image, without a gradient.
ValueId Brightness(GraphBuilder& b, ValueId images) {
  const ValueId pixels =
      b.Add("brightness/exp", "exp",
            {b.Add("brightness/mean", "mean", {images}, {{"axes", IntList{1, 2}}, {"keep_sizes", true}})});
  return b.Add("brightness/targets", "reshape", {pixels}, {{"shape", IntList{-1, 2}}});
}

absl::StatusOr<Model> MakeModel() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, kImages), labels = b.Input("labels", DType::kI32, {kSamples});
  ValueId x = b.Add("stem/tanh", "tanh", {b.Conv2d("stem", images, {.channels = 4, .kernel = 3, .padding = 1})});
  const ValueId aux = b.Dense("aux", b.GlobalAveragePool("aux/pool", x), kClasses);
  x = b.Add("trunk/tanh", "tanh", {b.Conv2d("trunk", x, {.channels = 4, .kernel = 3, .padding = 1})});
  const ValueId stopped = b.Add("brightness/stop", "stop_gradient", {b.Flatten("brightness/flat", x)});
  const ValueId brightness = b.Dense("brightness", stopped, 2);
  x = b.Dense("classifier", b.Flatten("classifier/flat", x), kClasses);
  const ValueId norm =
      b.Add("norm", "sum", {b.Add("norm/square", "square", {b.Add("norm/scale", "scale", {x}, {{"factor", 0.5}})})});
  const ValueId aux_loss = b.SoftmaxCrossEntropy("aux/loss", aux, labels);
  const ValueId regression = b.Add("brightness/loss", "mean_squared_error", {brightness, Brightness(b, images)});
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", x, labels), {b.Accuracy("accuracy", x, labels)},
                                        {{aux_loss, kWeights.at("aux/loss"), true},
                                         {regression, kWeights.at("brightness/loss"), false},
                                         {norm, kWeights.at("norm"), false}}));
  model.optimizer = {"sgd", {}};
  model.learning_rate.base = 1e-2;
  return model;
}

NamedTensors BatchOf(int step) { return {SmallImages(kImages, step), SmallLabels(kSamples, kClasses, step)}; }

TEST(SeveralLosses, GoTheWayOfOneRankUnderSplits) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const auto& [data, others] : {std::pair(4, 1), std::pair(1, 3), std::pair(2, 2)}) {
    for (const LayerSplit convolutions : {LayerSplit::kChannels, LayerSplit::kRows}) {
      ASSERT_OK_AND_ASSIGN(const Strategy strategy,
                           DataModelStrategy(model.graph, data, others, {.convolutions = convolutions}));
      const absl::Status status = RunSideBySide(model, strategy, kSteps, BatchOf);
      EXPECT_TRUE(status.ok()) << data << " x " << others << ": " << status;
    }
  }
}

Strategy Placed(const std::vector<std::string>& second, int64_t micro_batches) {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", 2}};
  if (micro_batches > 1) strategy.pipeline = {micro_batches, "stage", PipelineOrder::kOneForwardOneBackward};
  for (const std::string& pattern : second) strategy.ops.push_back({pattern, {{"stage", {"at", 1, {}}}}, {}});
  strategy.ops.push_back({"*", {{"stage", {"at", 0, {}}}}, {}});
  return strategy;
}

TEST(SeveralLosses, GoTheWayOfOneRankOnStagesAndOnBranches) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  for (const int64_t micro_batches : {1, 4}) {
    for (const std::vector<std::string>& second :
         {std::vector<std::string>{"trunk*", "brightness*", "classifier*", "norm*", "loss", "accuracy"},
          std::vector<std::string>{"aux*", "norm*"}}) {
      const absl::Status status = RunSideBySide(model, Placed(second, micro_batches), kSteps, BatchOf);
      EXPECT_TRUE(status.ok()) << second[0] << " " << micro_batches << ": " << status;
    }
  }
}

absl::StatusOr<std::unique_ptr<Session>> Serial(Model model) {
  model.learning_rate.base = 1;  // a step takes the whole gradient away
  ASSIGN_OR_RETURN(Program program, StepOf(model, Strategy{}));
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  options.tests.reference_kernels = true;
  return Session::Start(std::move(program), options);
}

absl::StatusOr<StepResult> Step(Session& session, const NamedTensors& batch = BatchOf(0)) {
  RETURN_IF_ERROR(session.StageInput(kTrainEntry, "images", batch.images));
  RETURN_IF_ERROR(session.StageInput(kTrainEntry, "labels", batch.labels));
  return session.Train();
}

// What is minimised, as a parameter of this name sees it: through stop_gradient nothing does.
double Objective(const StepResult& result, const std::string& parameter) {
  double sum = result.loss;
  for (const auto& [name, value] : result.metrics) {
    const bool behind_stop = name == "brightness/loss" && !parameter.starts_with("brightness");
    if (kWeights.contains(name) && !behind_stop) sum += kWeights.at(name) * value;
  }
  return sum;
}

double At(const HostTensor& tensor, size_t i) {
  double number = 0;
  std::memcpy(&number, tensor.bytes.data() + i * sizeof(number), sizeof(number));
  return number;
}

// The objective's derivative by the i-th element of a parameter, around the states of the beginning.
class Differences {
 public:
  Differences(Session& session, std::map<std::string, HostTensor> origin)
      : session_(session), origin_(std::move(origin)) {}

  double Of(const std::string& name, size_t i) {
    const auto f = [&](double h) { return With(name, i, h); };
    constexpr double h = 1e-3;
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
  }

 private:
  double With(const std::string& name, size_t i, double h) {
    for (const auto& [state, tensor] : origin_) {
      HostTensor moved = tensor;
      if (state == name) {
        const double number = At(tensor, i) + h;
        std::memcpy(moved.bytes.data() + i * sizeof(number), &number, sizeof(number));
      }
      EXPECT_TRUE(session_.WriteState(state, moved).ok());
    }
    const absl::StatusOr<StepResult> result = Step(session_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? Objective(*result, name) : 0;
  }

  Session& session_;
  const std::map<std::string, HostTensor> origin_;
};

TEST(SeveralLosses, TheGradientIsThatOfTheWeightedSum) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const auto session, Serial(model));
  std::map<std::string, HostTensor> before, after;
  for (const State& state : model.graph.states()) {
    const std::string& name = model.graph.value(state.value).name;
    ASSERT_OK_AND_ASSIGN(before[name], session->ReadState(name));
  }
  ASSERT_OK_AND_ASSIGN(const StepResult result, Step(*session));
  ASSERT_EQ(result.metrics.size(), 4u);
  for (auto& [name, tensor] : before) {
    ASSERT_OK_AND_ASSIGN(after[name], session->ReadState(name));
  }
  Differences differences(*session, before);
  for (const auto& [name, tensor] : before) {
    const size_t elements = tensor.bytes.size() / sizeof(double);
    for (size_t i = 0; i < elements; i += std::max<size_t>(1, elements / 5)) {
      const double gradient = At(tensor, i) - At(after.at(name), i);
      EXPECT_NEAR(differences.Of(name, i), gradient, 1e-8) << name << " " << i;
    }
  }
}

// So bright that the targets overflow, which the classifier does not see.
TEST(SeveralLosses, AStepIsAppliedIfAllOfThemAreFinite) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const auto session, Serial(model));
  NamedTensors bright = BatchOf(0);
  const double pixel = 1e4;
  for (size_t at = 0; at < bright.images.bytes.size(); at += sizeof(pixel)) {
    std::memcpy(bright.images.bytes.data() + at, &pixel, sizeof(pixel));
  }
  ASSERT_OK_AND_ASSIGN(const HostTensor before, session->ReadState("classifier/matmul/weights"));
  const absl::Status refused = Step(*session, bright).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(refused.message().find("node 'brightness/loss': the loss is inf"), std::string::npos) << refused;
  ASSERT_OK_AND_ASSIGN(const HostTensor after, session->ReadState("classifier/matmul/weights"));
  EXPECT_EQ(before.bytes, after.bytes);
}

TEST(SeveralLosses, WhatIsOfTrainingAloneIsNotInEvaluation) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, Strategy{}));
  const auto has = [&](const char* entry, const std::string& value) {
    return program.graph(entry).Find(value) != kNoValue;
  };
  for (const char* name : {"aux/loss", "aux/pool", "aux/bias"}) {
    EXPECT_TRUE(has(kTrainEntry, name)) << name;
    EXPECT_FALSE(has(kEvaluateEntry, name)) << name;
  }
  EXPECT_TRUE(has(kEvaluateEntry, "aux/matmul/weights")) << "states are those of all entry points";
  EXPECT_TRUE(has(kEvaluateEntry, "brightness/loss"));
}

}  // namespace
}  // namespace partita
