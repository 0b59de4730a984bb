// A loss and an accuracy that ignore a label go the way that PyTorch's go, in f64, on one rank and under every split of
// samples, places and classes, also where a rank or a micro-batch has no other label.
#include "tests/gradients/pytorch_ignored_labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using pytorch::kClasses;
using pytorch::kInputs;
using pytorch::kPlaces;
using pytorch::kSamples;

absl::StatusOr<Model> MakeModel(const pytorch::IgnoredLabels& trained, bool flat) {
  GraphBuilder b(Ops());
  ValueId x = b.Input("x", DType::kF32, {kSamples, kPlaces, kInputs});
  ValueId labels = b.Input("labels", DType::kI32, {kSamples, kPlaces});
  if (flat) {
    x = b.Add("flat", "reshape", {x}, {{"shape", IntList{-1, kInputs}}});
    labels = b.Add("flat_labels", "reshape", {labels}, {{"shape", IntList{-1}}});
  }
  const ValueId weights = b.Parameter("weights", {kInputs, kClasses}, "constant", 0);
  const ValueId logits = b.Add("logits", "matmul", {x, weights});
  const Attributes ignoring = {{"ignore_index", trained.ignored}};
  Attributes of_loss = ignoring;
  of_loss.Set("label_smoothing", trained.smoothing);
  of_loss.Set("reduction", trained.reduction);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "softmax_cross_entropy", {logits, labels}, of_loss),
                                        {b.Add("right", "accuracy", {logits, labels}, ignoring)}));
  model.learning_rate.base = trained.rate;
  return model;
}

// f(row, column) of a tensor, row by row.
template <typename T, typename F>
HostTensor Filled(DType dtype, Shape shape, const F& f) {
  const int64_t columns = shape.back(), elements = Elements(shape);
  HostTensor tensor{dtype, std::move(shape), std::vector<char>(elements * sizeof(T))};
  for (int64_t i = 0; i < elements; ++i) {
    const T value = static_cast<T>(f(i / columns, i % columns));
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

absl::StatusOr<std::unique_ptr<Session>> Start(const Model& model, const Strategy& strategy) {
  ASSIGN_OR_RETURN(Program program,
                   MakeProgram(model, strategy, Ops(), {.floating = DType::kF64, .verify_passes = true}));
  SessionOptions options;
  options.threads_per_rank = 1;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  RETURN_IF_ERROR(session->WriteState("weights", Filled<double>(DType::kF64, {kInputs, kClasses}, pytorch::Weight)));
  return session;
}

absl::StatusOr<StepResult> Step(Session& session, int64_t step, int64_t ignored, bool all) {
  const HostTensor x = Filled<double>(DType::kF64, {kSamples, kPlaces, kInputs},
                                      [&](int64_t row, int64_t j) { return pytorch::Input(step, row, j); });
  const HostTensor labels = Filled<int32_t>(DType::kI32, {kSamples, kPlaces}, [&](int64_t sample, int64_t place) {
    return all ? ignored : pytorch::Label(step, sample * kPlaces + place, ignored);
  });
  RETURN_IF_ERROR(session.StageInput(kTrainEntry, "x", x));
  RETURN_IF_ERROR(session.StageInput(kTrainEntry, "labels", labels));
  return session.Train();
}

std::vector<double> WeightsOf(const Session& session) {
  const HostTensor state = session.ReadState("weights").value();
  std::vector<double> values(state.bytes.size() / sizeof(double));
  std::memcpy(values.data(), state.bytes.data(), state.bytes.size());
  return values;
}

void ExpectPyTorchs(const pytorch::IgnoredLabels& trained, bool flat, const Strategy& strategy) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(trained, flat));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Start(model, strategy));
  for (int64_t step = 0; step < pytorch::kSteps; ++step) {
    ASSERT_OK_AND_ASSIGN(const StepResult result, Step(*session, step, trained.ignored, false));
    const auto at = static_cast<size_t>(step);
    EXPECT_NEAR(result.loss, trained.losses[at], 1e-12) << "step " << step;
    EXPECT_NEAR(result.metrics[0].second, trained.right[at], 1e-12) << "step " << step;
  }
  const std::vector<double> weights = WeightsOf(*session);
  ASSERT_EQ(weights.size(), trained.weights.size());
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], trained.weights[i], 1e-12) << i;
}

Strategy Split(int data, int model, const std::string& loss, int64_t micro_batches = 1) {
  Strategy strategy;
  strategy.mesh = {{{"data", data}, {"model", model}}};
  strategy.pipeline.micro_batches = micro_batches;
  if (!loss.empty()) strategy.ops.push_back({"loss", {{"model", AxisConfig{loss, 0, {}}}}, {}});
  strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
  return strategy;
}

TEST(IgnoredLabels, GoTheWayOfPyTorchUnderEverySplit) {
  for (const pytorch::IgnoredLabels& trained : pytorch::AllIgnoredLabels()) {
    for (const bool flat : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} {} flat {}", trained.ignored, trained.smoothing, trained.reduction, flat));
      const std::vector<std::pair<std::string, Strategy>> strategies = {
          {"one rank", {}},
          {"samples", Split(3, 1, "")},
          {"each sample", Split(6, 1, "")},
          {"classes", Split(1, 3, "classes")},
          {"samples and classes", Split(2, 2, "classes")},
          {"samples and places", Split(2, 2, flat ? "samples" : "dimension1")},
          {"micro-batches", Split(1, 1, "", 6)},
          {"samples, classes and micro-batches", Split(2, 2, "classes", 3)}};
      for (const auto& [name, strategy] : strategies) {
        SCOPED_TRACE(name);
        ExpectPyTorchs(trained, flat, strategy);
      }
    }
  }
}

// On the last of two stages, whose first backward pass waits for the labels of all micro-batches.
TEST(IgnoredLabels, GoTheWayOfPyTorchOnStages) {
  Strategy strategy;
  strategy.mesh = {{{"stage", 2}}};
  strategy.pipeline = {3, "stage", PipelineOrder::kOneForwardOneBackward};
  for (const char* const pattern : {"loss", "right"}) strategy.ops.push_back({pattern, {{"stage", {"at", 1, {}}}}, {}});
  strategy.ops.push_back({"*", {{"stage", {"at", 0, {}}}}, {}});
  for (const pytorch::IgnoredLabels& trained : pytorch::AllIgnoredLabels()) ExpectPyTorchs(trained, false, strategy);
}

// As PyTorch's mean it is not a number, which is an error of the step, and no state changes. A sum is 0.
TEST(IgnoredLabels, AMeanOfNoRowsIsNotANumber) {
  for (const Strategy& strategy : {Strategy(), Split(2, 2, "classes"), Split(1, 1, "", 3)}) {
    for (const std::string reduction : {"mean", "sum"}) {
      ASSERT_OK_AND_ASSIGN(const Model model, MakeModel({-100, 0.1, reduction, 0.5, {}, {}, {}}, false));
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Start(model, strategy));
      const std::vector<double> before = WeightsOf(*session);
      const absl::StatusOr<StepResult> step = Step(*session, 0, -100, true);
      EXPECT_EQ(step.status().code(), reduction == "mean" ? absl::StatusCode::kOutOfRange : absl::StatusCode::kOk);
      if (step.ok()) {
        EXPECT_EQ(step->loss, 0);
      }
      EXPECT_EQ(WeightsOf(*session), before);
    }
  }
}

}  // namespace
}  // namespace partita
