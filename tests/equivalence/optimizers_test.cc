// Every optimizer of the list: beside its formulas, written out here, and under every kind of split beside one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using Numbers = std::vector<double>;

// One parameter with its slots, in plain loops.
struct Reference {
  Numbers w;
  std::map<std::string, Numbers> slots;
};

// What step t = 1, 2, ... does to the parameter, whose gradient is clipped.
using Formula = std::function<void(Reference& r, const Numbers& g, double rate, int t)>;

// A formula whose element i depends on element i of w, g and the slots alone.
Formula Elementwise(std::function<void(Reference& r, size_t i, double g, double rate, int t)> element) {
  return [element = std::move(element)](Reference& r, const Numbers& g, double rate, int t) {
    for (size_t i = 0; i < g.size(); ++i) element(r, i, g[i], rate, t);
  };
}

double NormOf(const Numbers& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

struct Trained {
  std::string name;
  Attributes attributes;
  std::map<std::string, double> slots;  // and what they begin with
  Formula formula;
};

std::ostream& operator<<(std::ostream& out, const Trained& trained) { return out << trained.name; }

std::vector<Trained> AllTrained() {
  return {
      {"sgd",
       {{"momentum", 0.8}, {"weight_decay", 0.01}, {"nesterov", true}},
       {{"momentum", 0}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int) {
         const double decayed = g + 0.01 * r.w[i];
         double& m = r.slots["momentum"][i];
         m = 0.8 * m + decayed;
         r.w[i] -= rate * (decayed + 0.8 * m);
       })},
      {"adam",
       {{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.01}},
       {{"mean", 0}, {"mean_square", 0}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int t) {
         const double decayed = g + 0.01 * r.w[i];
         double &m = r.slots["mean"][i], &v = r.slots["mean_square"][i];
         m = 0.8 * m + (1 - 0.8) * decayed;
         v = 0.99 * v + (1 - 0.99) * decayed * decayed;
         const double m_hat = m / (1 - std::pow(0.8, t)), v_hat = v / (1 - std::pow(0.99, t));
         r.w[i] -= rate * m_hat / (std::sqrt(v_hat) + 1e-6);
       })},
      {"adamw",
       {{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.1}},
       {{"mean", 0}, {"mean_square", 0}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int t) {
         double &m = r.slots["mean"][i], &v = r.slots["mean_square"][i];
         m = 0.8 * m + (1 - 0.8) * g;
         v = 0.99 * v + (1 - 0.99) * g * g;
         const double m_hat = m / (1 - std::pow(0.8, t)), v_hat = v / (1 - std::pow(0.99, t));
         r.w[i] -= rate * (0.1 * r.w[i] + m_hat / (std::sqrt(v_hat) + 1e-6));
       })},
      {"adagrad",
       {{"initial_accumulator", 0.1}, {"epsilon", 1e-3}, {"inner_epsilon", 1e-2}, {"weight_decay", 0.01}},
       {{"accumulator", 0.1}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int) {
         const double decayed = g + 0.01 * r.w[i];
         double& s = r.slots["accumulator"][i];
         s += decayed * decayed;
         r.w[i] -= rate * decayed / (std::sqrt(s + 1e-2) + 1e-3);
       })},
      {"rmsprop_torch",
       {{"alpha", 0.95}, {"momentum", 0.9}, {"epsilon", 0.1}, {"weight_decay", 0.01}, {"centered", true}},
       {{"mean_square", 0}, {"momentum", 0}, {"mean", 0}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int) {
         const double decayed = g + 0.01 * r.w[i];
         double &v = r.slots["mean_square"][i], &m = r.slots["momentum"][i], &a = r.slots["mean"][i];
         v = 0.95 * v + (1 - 0.95) * decayed * decayed;
         a = 0.95 * a + (1 - 0.95) * decayed;
         m = 0.9 * m + decayed / (std::sqrt(std::max(v - a * a, 0.0)) + 0.1);
         r.w[i] -= rate * m;
       })},
      {"rmsprop",
       {{"decay", 0.95}, {"momentum", 0.9}, {"epsilon", 0.1}, {"weight_decay", 0.01}},
       {{"mean_square", 1}, {"momentum", 0}},
       Elementwise([](Reference& r, size_t i, double g, double rate, int) {
         const double decayed = g + 0.01 * r.w[i];
         double &v = r.slots["mean_square"][i], &m = r.slots["momentum"][i];
         v = 0.95 * v + (1 - 0.95) * decayed * decayed;
         m = 0.9 * m + rate * decayed / std::sqrt(v + 0.1);
         r.w[i] -= m;
       })},
      {"lamb",
       {{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.1}, {"weight_norm_limit", 1.0}},
       {{"mean", 0}, {"mean_square", 0}},
       [](Reference& r, const Numbers& g, double rate, int t) {
         Numbers d(g.size());
         for (size_t i = 0; i < g.size(); ++i) {
           double &m = r.slots["mean"][i], &v = r.slots["mean_square"][i];
           m = 0.8 * m + (1 - 0.8) * g[i];
           v = 0.99 * v + (1 - 0.99) * g[i] * g[i];
           const double m_hat = m / (1 - std::pow(0.8, t)), v_hat = v / (1 - std::pow(0.99, t));
           d[i] = m_hat / (std::sqrt(v_hat) + 1e-6) + 0.1 * r.w[i];
         }
         const double ratio = std::min(NormOf(r.w), 1.0) / NormOf(d);
         for (size_t i = 0; i < g.size(); ++i) r.w[i] -= rate * ratio * d[i];
       }},
      {"lars",
       {{"trust", 0.1}, {"momentum", 0.8}, {"weight_decay", 0.01}},
       {{"momentum", 0}},
       [](Reference& r, const Numbers& g, double rate, int) {
         const double w = NormOf(r.w), local = 0.1 * w / (NormOf(g) + 0.01 * w);
         for (size_t i = 0; i < g.size(); ++i) {
           double& m = r.slots["momentum"][i];
           m = 0.8 * m + rate * local * (g[i] + 0.01 * r.w[i]);
           r.w[i] -= m;
         }
       }},
  };
}

constexpr int64_t kSamples = 6, kFeatures = 5, kKinds = 3;
constexpr double kRate = 0.05, kMaxNorm = 0.8;

// Softmax regression, of which the gradient is written down in a line.
absl::StatusOr<Model> SoftmaxRegression(const Trained& trained) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {kSamples, kFeatures});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId loss = b.SoftmaxCrossEntropy("loss", b.MatMul("layer", x, kKinds), labels);
  ASSIGN_OR_RETURN(Graph graph, b.Build(loss));
  Model model{"regression", std::move(graph), {trained.name, trained.attributes, kMaxNorm}, {}};
  model.learning_rate.base = kRate;
  return model;
}

// d loss / d w of w [features,kinds].
Numbers GradientOf(const Numbers& w, const Numbers& x, const std::vector<int32_t>& labels) {
  Numbers gradient(w.size(), 0);
  for (int64_t n = 0; n < kSamples; ++n) {
    Numbers probability(kKinds, 0);
    double sum = 0;
    for (int64_t k = 0; k < kKinds; ++k) {
      double logit = 0;
      for (int64_t f = 0; f < kFeatures; ++f) logit += x[n * kFeatures + f] * w[f * kKinds + k];
      sum += probability[k] = std::exp(logit);
    }
    for (int64_t k = 0; k < kKinds; ++k) {
      const double d = (probability[k] / sum - (labels[n] == k)) / kSamples;
      for (int64_t f = 0; f < kFeatures; ++f) gradient[f * kKinds + k] += x[n * kFeatures + f] * d;
    }
  }
  return gradient;
}

template <typename T>
HostTensor TensorOf(DType dtype, const Shape& shape, const std::vector<T>& values) {
  HostTensor tensor{dtype, shape, std::vector<char>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

void ExpectNear(const Session& session, const std::string& state, const Numbers& expected, int step) {
  ASSERT_OK_AND_ASSIGN(const HostTensor tensor, session.ReadState(state));
  const Numbers found = ToDoubles(tensor);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-12) << state << " step " << step;
}

class EveryOptimizer : public testing::TestWithParam<Trained> {};

TEST_P(EveryOptimizer, FollowsItsFormulas) {
  const Trained& trained = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, SoftmaxRegression(trained));
  ASSERT_OK_AND_ASSIGN(Program program, StepOf(model, Strategy{}));
  SessionOptions options;
  options.threads_per_rank = 1;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Start(std::move(program), options));
  Reference reference;
  ASSERT_OK_AND_ASSIGN(const HostTensor initial, session->ReadState("layer/weights"));
  reference.w = ToDoubles(initial);
  for (const auto& [slot, value] : trained.slots) reference.slots[slot] = Numbers(reference.w.size(), value);
  int clipped = 0;
  for (int t = 1; t <= 50; ++t) {
    Numbers x(kSamples * kFeatures);
    std::vector<int32_t> labels(kSamples);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 4 * Uniform(7, static_cast<uint64_t>(t), i) - 2;
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>((i * 5 + static_cast<size_t>(t)) % 3);
    ASSERT_TRUE(session->StageInput(kTrainEntry, "x", TensorOf(DType::kF64, {kSamples, kFeatures}, x)).ok());
    ASSERT_TRUE(session->StageInput(kTrainEntry, "labels", TensorOf(DType::kI32, {kSamples}, labels)).ok());
    ASSERT_TRUE(session->Train().ok());
    Numbers gradient = GradientOf(reference.w, x, labels);
    const double clip = std::min(1.0, kMaxNorm / NormOf(gradient));
    clipped += clip < 1;
    for (double& g : gradient) g *= clip;
    trained.formula(reference, gradient, kRate, t);
    ExpectNear(*session, "layer/weights", reference.w, t);
    for (const auto& [slot, values] : reference.slots) ExpectNear(*session, "layer/weights@" + slot, values, t);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(clipped, 0);
  EXPECT_LT(clipped, 50);
}

TEST_P(EveryOptimizer, IsTheSameUnderEverySplit) {
  const Trained& trained = GetParam();
  const std::vector<Case> cases = {{"mlp", "2x1"},     {"lenet5", "2x2"},     {"mlp", "placement"}, {"lenet5", "h2c2"},
                                   {"mlp", "islands"}, {"mlp", "micro_data"}, {"mlp", "1f1b"}};
  for (const Case& one : cases) {
    for (const bool sharded : {false, true}) {
      ASSERT_OK_AND_ASSIGN(Model model, MakeSmallModel(one, 1e-2));
      model.optimizer = {trained.name, trained.attributes, 1.0};
      // What is 0 but for rounding must not become a step: neither of two roundings is the right one.
      if (model.optimizer.attributes.Has("epsilon")) model.optimizer.attributes.Set("epsilon", 1e-2);
      ASSERT_OK_AND_ASSIGN(Strategy strategy, MakeStrategy(one, model));
      if (sharded && strategy.mesh.AxisIndex("data") < 0) continue;
      if (sharded) ShardUpdates(model, strategy);
      const absl::Status same = RunSideBySide(model, strategy, 10, [&](int step) -> NamedTensors {
        const StepInputs batch = MakeBatch(1, step, DType::kF64, BatchOf(one));
        return {batch.images, batch.labels};
      });
      EXPECT_TRUE(same.ok()) << one << (sharded ? " sharded" : "") << ": " << same;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(List, EveryOptimizer, testing::ValuesIn(AllTrained()),
                         [](const testing::TestParamInfo<Trained>& info) { return info.param.name; });

TEST(Optimizers, AreAllHere) {
  std::set<std::string> listed, tested;
  for (const OptimizerDefinition& optimizer : Ops().optimizers()) listed.insert(optimizer.name);
  for (const Trained& trained : AllTrained()) tested.insert(trained.name);
  EXPECT_EQ(tested, listed);
}

}  // namespace
}  // namespace partita
