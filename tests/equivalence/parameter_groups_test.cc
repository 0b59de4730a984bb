// Groups of parameters and moving averages: beside their formulas, written out here, and under every kind of split
// beside one rank; what evaluation reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/generated_name.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using Numbers = std::vector<double>;

constexpr int64_t kSamples = 6, kFeatures = 5, kKinds = 3;
constexpr double kRate = 0.05, kDecay = 0.9;

SessionOptions OneThread() {
  SessionOptions options;
  options.threads_per_rank = 1;
  return options;
}

// The layer's weights are scaled, clipped and decayed otherwise than its bias, which is trained at half the rate.
Optimizer Grouped() {
  Optimizer optimizer{"sgd", {{"momentum", 0.8}, {"weight_decay", 0.1}}, 0.5};
  optimizer.groups = {{"*/bias/values", 0.5, {{"weight_decay", 0.0}, {"gradient_scale", 0.25}}, 0.05},
                      {"*/values", 3},
                      {"*/weights", 1, {{"gradient_scale", 3.0}}}};
  optimizer.average = MovingAverage{kDecay, "*", true};
  return optimizer;
}

absl::StatusOr<Model> SoftmaxRegression() {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {kSamples, kFeatures});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId logits = b.Bias("layer/bias", b.MatMul("layer/matmul", x, kKinds));
  ASSIGN_OR_RETURN(Graph graph, b.Build(b.SoftmaxCrossEntropy("loss", logits, labels)));
  Model model{"regression", std::move(graph), Grouped(), {}};
  model.learning_rate.base = kRate;
  return model;
}

struct Batch {
  Numbers x;
  std::vector<int32_t> labels;
};

Batch BatchAt(int t) {
  Batch batch{Numbers(kSamples * kFeatures), std::vector<int32_t>(kSamples)};
  for (size_t i = 0; i < batch.x.size(); ++i) batch.x[i] = 4 * Uniform(7, static_cast<uint64_t>(t), i) - 2;
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    batch.labels[i] = static_cast<int32_t>((i * 5 + static_cast<size_t>(t)) % kKinds);
  }
  return batch;
}

template <typename T>
HostTensor TensorOf(DType dtype, const Shape& shape, const std::vector<T>& values) {
  HostTensor tensor{dtype, shape, std::vector<char>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

Numbers Read(const Session& session, const std::string& state) { return ToDoubles(session.ReadState(state).value()); }

// A parameter with its momentum and its average, in plain loops.
struct Reference {
  Numbers w, momentum, average;
  double rate, weight_decay, max_norm, scale;

  void Step(const Numbers& gradient, int t) {
    double squares = 0;
    for (const double g : gradient) squares += g * g;
    const double factor = scale * std::min(1.0, max_norm / (scale * std::sqrt(squares)));
    const double keep = std::min(kDecay, (1.0 + t) / (10.0 + t));
    for (size_t i = 0; i < w.size(); ++i) {
      momentum[i] = 0.8 * momentum[i] + factor * gradient[i] + weight_decay * w[i];
      w[i] -= rate * momentum[i];
      average[i] = keep * average[i] + (1 - keep) * w[i];
    }
  }

  void ExpectIn(const Session& session, const std::string& name) const {
    const std::map<std::string, Numbers> states = {
        {name, w}, {name + "@momentum", momentum}, {name + "@average", average}};
    for (const auto& [state, expected] : states) {
      const Numbers found = Read(session, state);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-12) << state;
    }
  }
};

// d loss / d logits.
Numbers GradientOfLogits(const Numbers& w, const Numbers& bias, const Batch& batch) {
  Numbers gradient(kSamples * kKinds);
  for (int64_t n = 0; n < kSamples; ++n) {
    double sum = 0;
    for (int64_t k = 0; k < kKinds; ++k) {
      double logit = bias[k];
      for (int64_t f = 0; f < kFeatures; ++f) logit += batch.x[n * kFeatures + f] * w[f * kKinds + k];
      sum += gradient[n * kKinds + k] = std::exp(logit);
    }
    for (int64_t k = 0; k < kKinds; ++k) {
      double& g = gradient[n * kKinds + k];
      g = (g / sum - (batch.labels[n] == k)) / kSamples;
    }
  }
  return gradient;
}

TEST(ParameterGroups, FollowTheirFormulas) {
  ASSERT_OK_AND_ASSIGN(const Model model, SoftmaxRegression());
  ASSERT_OK_AND_ASSIGN(Program program, StepOf(model, Strategy{}));
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Start(std::move(program), OneThread()));
  const std::string weights = "layer/matmul/weights", values = "layer/bias/values";
  const Numbers first = Read(*session, weights), none(kKinds, 0);
  EXPECT_EQ(Read(*session, weights + "@average"), first) << "it begins as what it is an average of";
  Reference w{first, Numbers(first.size(), 0), first, kRate, 0.1, 0.5, 3};
  Reference bias{none, none, none, kRate * 0.5, 0, 0.05, 0.25};  // the first group that matches
  for (int t = 1; t <= 50; ++t) {
    const Batch batch = BatchAt(t);
    ASSERT_OK(session->StageInput(kTrainEntry, "x", TensorOf(DType::kF64, {kSamples, kFeatures}, batch.x)));
    ASSERT_OK(session->StageInput(kTrainEntry, "labels", TensorOf(DType::kI32, {kSamples}, batch.labels)));
    ASSERT_OK(session->Train().status());
    const Numbers logits = GradientOfLogits(w.w, bias.w, batch);
    Numbers of_w(first.size(), 0), of_bias(kKinds, 0);
    for (int64_t n = 0; n < kSamples; ++n) {
      for (int64_t k = 0; k < kKinds; ++k) {
        of_bias[k] += logits[n * kKinds + k];
        for (int64_t f = 0; f < kFeatures; ++f) {
          of_w[f * kKinds + k] += batch.x[n * kFeatures + f] * logits[n * kKinds + k];
        }
      }
    }
    w.Step(of_w, t);
    bias.Step(of_bias, t);
    w.ExpectIn(*session, weights);
    bias.ExpectIn(*session, values);
    if (HasFatalFailure()) return;
  }
}

// Of a small model: the classifier is a group with a norm of its own, all other weights decay; both are scaled.
Optimizer GroupedOf(const std::string& name, const Attributes& attributes, double clip_norm = 1) {
  Optimizer optimizer{name, attributes, clip_norm};
  optimizer.groups = {{"classifier/*", 0.5, {{"weight_decay", 0.0}, {"gradient_scale", 0.5}}, 0.25},
                      {"*/weights", 1.5, {{"weight_decay", 0.01}, {"gradient_scale", 2.0}}}};
  optimizer.average = MovingAverage{kDecay, "*", true};
  return optimizer;
}

std::vector<Optimizer> Optimizers() {
  return {GroupedOf("sgd", {{"momentum", 0.9}}), GroupedOf("adamw", {{"epsilon", 1e-2}}, 0),
          GroupedOf("rmsprop", {{"momentum", 0.9}, {"epsilon", 1.0}}), GroupedOf("lamb", {{"epsilon", 1e-2}}),
          GroupedOf("lars", {{"trust", 0.1}})};
}

class GroupsOfCases : public testing::TestWithParam<Case> {};

TEST_P(GroupsOfCases, AreTheSameUnderEverySplit) {
  const Case& one = GetParam();
  for (const Optimizer& optimizer : Optimizers()) {
    for (const bool sharded : {false, true}) {
      ASSERT_OK_AND_ASSIGN(Model model, MakeSmallModel(one, 1e-2));
      model.optimizer = optimizer;
      ASSERT_OK_AND_ASSIGN(Strategy strategy, MakeStrategy(one, model));
      if (sharded && strategy.mesh.AxisIndex("data") < 0) continue;
      if (sharded) ShardUpdates(model, strategy);
      const absl::Status same = RunSideBySide(model, strategy, 6, [&](int step) -> NamedTensors {
        const StepInputs batch = MakeBatch(1, step, DType::kF64, BatchOf(one));
        return {batch.images, batch.labels};
      });
      EXPECT_TRUE(same.ok()) << optimizer.name << (sharded ? " sharded" : "") << ": " << same;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, GroupsOfCases,
                         testing::Values(Case{"lenet5", "2x1", true}, Case{"mlp", "3x1", false},
                                         Case{"lenet5", "2x2", true}, Case{"mlp", "placement", true},
                                         Case{"lenet5", "h2c2", true}, Case{"mlp", "islands", false},
                                         Case{"mlp", "micro_data", true}, Case{"lenet5", "1f1b", true}),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.Name(); });

absl::StatusOr<std::unique_ptr<Session>> StartOf(const Case& one, const Model& model, const ProgramOptions& options) {
  ASSIGN_OR_RETURN(Program program, PlanOf(one, model, options));
  return Session::Start(std::move(program), OneThread());
}

double LossOfEvaluation(Session& session, int64_t samples) {
  const StepInputs batch = MakeBatch(9, 0, DType::kF32, samples);
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, "images", batch.images).ok());
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, "labels", batch.labels).ok());
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, kSampleWeightName, batch.weights).ok());
  return session.Evaluate().value().loss;
}

void Train(Session& session, const Case& one, int steps) {
  for (int step = 0; step < steps; ++step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF32, BatchOf(one));
    ASSERT_OK(session.StageInput(kTrainEntry, "images", batch.images));
    ASSERT_OK(session.StageInput(kTrainEntry, "labels", batch.labels));
    ASSERT_OK(session.Train().status());
  }
}

// Beside a model without averages to whose states the averages are written.
TEST(MovingAverages, AreWhatEvaluationReads) {
  for (const Case& one : {Case{"lenet5", "1x1", true}, Case{"lenet5", "2x2", true}, Case{"mlp", "1f1b", true}}) {
    for (const bool mixed : {false, true}) {
      const ProgramOptions options{.mix_precision = mixed, .verify_passes = true};
      ASSERT_OK_AND_ASSIGN(Model model, MakeSmallModel(one, 1e-1));
      ASSERT_OK_AND_ASSIGN(const auto plain, StartOf(one, model, options));
      model.optimizer.average = MovingAverage{kDecay};
      ASSERT_OK_AND_ASSIGN(const auto averaged, StartOf(one, model, options));
      EXPECT_EQ(LossOfEvaluation(*averaged, BatchOf(one)), LossOfEvaluation(*plain, BatchOf(one))) << one;
      Train(*averaged, one, 3);
      Train(*plain, one, 3);
      EXPECT_NE(LossOfEvaluation(*averaged, BatchOf(one)), LossOfEvaluation(*plain, BatchOf(one))) << one;
      int written = 0;
      for (const State& state : model.graph.states()) {
        const std::string& name = model.graph.value(state.value).name;
        ASSERT_OK_AND_ASSIGN(const HostTensor trained, averaged->ReadState(name));
        EXPECT_EQ(trained.bytes, plain->ReadState(name)->bytes) << "an average changes no training: " << name;
        ASSERT_OK_AND_ASSIGN(const HostTensor average, averaged->ReadState(AverageName(name)));
        ASSERT_OK(plain->WriteState(name, average));
        ++written;
      }
      EXPECT_GT(written, 3);
      EXPECT_EQ(LossOfEvaluation(*averaged, BatchOf(one)), LossOfEvaluation(*plain, BatchOf(one))) << one;
    }
  }
}

TEST(MovingAverages, AreOfWhatThePatternMatches) {
  const Case one{"lenet5", "2x1", true};
  ASSERT_OK_AND_ASSIGN(Model model, MakeSmallModel(one, 1e-1));
  model.optimizer.average = MovingAverage{kDecay, "*/running_mean"};
  ASSERT_OK_AND_ASSIGN(const auto session, StartOf(one, model, {}));
  int averages = 0;
  for (const std::string& name : session->StateNames()) {
    if (!name.ends_with("@average")) continue;
    EXPECT_TRUE(name.ends_with("/running_mean@average")) << name;
    ++averages;
  }
  EXPECT_GT(averages, 1);
}

// In bf16 beside the serial run in bf16.
TEST(ParameterGroups, AreTheSameInMixedPrecision) {
  const ProgramOptions mixed{.mix_precision = true, .verify_passes = true};
  for (const Case& one : {Case{"mlp", "2x1", false}, Case{"mlp", "2x2", true}}) {
    ASSERT_OK_AND_ASSIGN(Model model, MakeSmallModel(one, 1e-3));
    model.optimizer = Optimizers()[0];
    ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, mixed));
    ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, mixed));
    VerifyPlanOptions options;
    options.session = OneThread();
    options.tolerance = 5e-2;  // as in mixed_precision_test.cc
    options.floor = 1e-1;
    ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
    for (int step = 0; step < 4; ++step) {
      const StepInputs batch = MakeBatch(1, step, DType::kF32, BatchOf(one));
      ASSERT_OK(verifier->StageInput("images", batch.images));
      ASSERT_OK(verifier->StageInput("labels", batch.labels));
      ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
      const TensorDifference* const first = comparison.First();
      EXPECT_EQ(first, nullptr) << one << " step " << step << ": " << ToString(*first);
      for (const TensorDifference& tensor : comparison.tensors) EXPECT_TRUE(tensor.replicas_equal) << ToString(tensor);
    }
  }
}

}  // namespace
}  // namespace partita
