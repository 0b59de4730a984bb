// Optimizers as a user names them, beside numbers that their frameworks' formulas give in Python, in double, and beside
// PyTorch itself for 50 steps: what is not said is what PyTorch's optimizers and TensorFlow's RMSPropOptimizer have
// where nothing is said. The formulas over many steps of a session: tests/equivalence/optimizers_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/joint_nodes.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/mixed_updates.h"
#include "tests/ops/host/pytorch_optimizers.h"

namespace partita {
namespace {

constexpr double kRate = 0.1, kClip = 0.5;
constexpr int kSteps = 4;

struct Golden {
  std::string name;
  Attributes said;
  Values w[kSteps];  // after each step; before the first it is {1, -2}
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

std::vector<Golden> Goldens() {
  return {
      {"sgd",
       {{"weight_decay", 0.1}},
       {{0.965, -2.08}, {0.90535, -2.1092}, {0.8212965, -2.088108}, {0.713083535, -2.01722692}}},
      {"sgd",
       {{"weight_decay", 0.1}, {"momentum", 0.9}},
       {{0.965, -2.08}, {0.87385, -2.1812}, {0.7080765, -2.250468}, {0.451799585, -2.24030452}}},
      {"sgd",
       {{"weight_decay", 0.1}, {"momentum", 0.9}, {"nesterov", true}},
       {{0.9335, -2.152},
        {0.7924135, -2.270912},
        {0.5612812935, -2.309153472},
        {0.2272296845735, -2.2251350888320003}}},
      {"adam",
       {{"weight_decay", 0.1}},
       {{0.9000000028571428, -2.09999999875},
        {0.801817988743426, -2.1883622761652832},
        {0.7042347585855492, -2.2385854924357362},
        {0.6065800771452557, -2.2333380018593525}}},
      {"rmsprop",
       {{"weight_decay", 0.1}},
       {{0.963355305255625, -2.081480084368445},
        {0.8989227957920083, -2.1126604655044496},
        {0.8073631066991196, -2.088935722656618},
        {0.6917695232785142, -2.0078292405550635}}},
      {"rmsprop",
       {{"weight_decay", 0.1}, {"momentum", 0.9}, {"epsilon", 1.0}},
       {{0.9746897922718161, -2.057084637201971},
        {0.9080633988489035, -2.1299456037591273},
        {0.786143954816527, -2.179614596751763},
        {0.5976227254181541, -2.1702811575951215}}},
  };
}

// The update's node: so many elements in f64, clipped.
LocalNode NodeOf(const UpdateRule& rule, int64_t elements) {
  const TensorType tensor{DType::kF64, {elements}}, scalar{DType::kF64, {}}, whole{DType::kI32, {}};
  std::vector<std::optional<TensorType>> types(2 + rule.slots.size(), tensor);
  types.insert(types.end(), {scalar, whole, scalar});  // rate, apply, clip
  if (types.size() < Ops().Find(rule.op)->inputs.size()) types.push_back(whole);
  return WholeNode(rule.op, rule.attributes, types);
}

// A parameter and its slots, as an optimizer's op takes them from step to step.
class Followed {
 public:
  Followed(const std::string& optimizer, const Attributes& said, const Values& first, const RunOptions& options)
      : options_(options) {
    const absl::StatusOr<Optimizer> complete = CompleteOptimizer({optimizer, said, 0}, Ops().optimizers());
    EXPECT_TRUE(complete.ok()) << complete.status();
    const UpdateRule rule = FindOptimizer(optimizer, Ops().optimizers())->rule(complete->attributes);
    node_ = NodeOf(rule, static_cast<int64_t>(first.size()));
    states_ = {first};
    for (const Slot& slot : rule.slots) states_.push_back(Values(first.size(), slot.initial));
  }

  const Values& w() const { return states_[0]; }

  void Step(const Values& gradient, double rate, double clip) {
    std::vector<Values> inputs = states_;
    inputs.insert(inputs.begin() + 1, gradient);
    inputs.push_back({rate});
    inputs.push_back({1});  // apply
    inputs.push_back({clip});
    if (inputs.size() < node_.inputs.size()) inputs.push_back({static_cast<double>(step_)});
    states_ = Outputs(node_, inputs, options_);
    ++step_;
  }

 private:
  const RunOptions options_;
  LocalNode node_;
  std::vector<Values> states_;
  int step_ = 0;
};

void Follow(const Golden& golden, const RunOptions& options) {
  Followed followed(golden.name, golden.said, {1, -2}, options);
  for (int step = 0; step < kSteps; ++step) {
    followed.Step({0.5 * (step + 1), 2.0 - step}, kRate, kClip);
    EXPECT_LE(Distance(followed.w(), golden.w[step]), 1e-12) << "step " << step;
  }
}

class FromPython : public testing::TestWithParam<Golden> {};

TEST_P(FromPython, TheReference) { Follow(GetParam(), {.reference_only = true}); }
TEST_P(FromPython, TheFirstKernel) { Follow(GetParam(), {}); }

INSTANTIATE_TEST_SUITE_P(Optimizers, FromPython, testing::ValuesIn(Goldens()));

// The gradient of step t = 1, 2, ...: a slope, and a push that differs from step to step.
Values GradientAt(const Values& w, int t) {
  Values gradient;
  for (size_t i = 0; i < w.size(); ++i) {
    gradient.push_back(pytorch::kSlopes[i] * w[i] + ((7 * t + 3 * static_cast<int>(i)) % 11 - 5) / 4.0);
  }
  return gradient;
}

class FromPyTorch : public testing::TestWithParam<pytorch::Followed> {};

TEST_P(FromPyTorch, FiftySteps) {
  for (const bool reference : {true, false}) {
    Followed ours(GetParam().optimizer, GetParam().said, pytorch::kFirst, {.reference_only = reference});
    size_t shown = 0;
    for (int t = 1; t <= pytorch::kShown.back(); ++t) {
      const Values gradient = GradientAt(ours.w(), t);
      double squares = 0;
      for (const double g : gradient) squares += g * g;
      ours.Step(gradient, pytorch::kRate, std::min(1.0, pytorch::kMaxNorm / std::sqrt(squares)));
      if (t != pytorch::kShown[shown]) continue;
      EXPECT_LE(Distance(ours.w(), GetParam().w[shown++]), 1e-12) << "step " << t;
    }
    EXPECT_EQ(shown, pytorch::kShown.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, FromPyTorch, testing::ValuesIn(pytorch::AllFollowed()),
                         [](const testing::TestParamInfo<pytorch::Followed>& info) {
                           return info.param.optimizer + std::to_string(info.index);
                         });

TEST(Updates, ScalarsOfAStepAreThoseOfTheNodes) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool clipped : {true, false}) {
      ExpectScalarsAreTheNodes(dtype, clipped, [](const LocalNode& node, const std::vector<Values>& inputs) {
        return Outputs(node, inputs);
      });
    }
  }
}

// By every kernel, on one thread and two.
TEST(Updates, SquaresOfManyTensorsAreThoseOfTheNodes) {
  for (const std::string& kernel : HostKernelNames("sum_of_squares")) {
    const std::string family = kernel.substr(0, kernel.find('_'));
    for (const int threads : {1, 2}) {
      const auto run = [&](const LocalNode& node, const std::vector<Values>& inputs) {
        const bool adds = node.op->name == "add";
        return Outputs(node, inputs, {.family = adds ? "" : family, .threads = threads});
      };
      for (const int count : {1, 7, 120}) {
        for (const bool narrow : {false, true}) ExpectSquaresAreTheNodes(DType::kF32, count, narrow, run);
      }
    }
  }
}

// By every kernel, on one thread and two.
TEST(Updates, InMixedPrecisionAreTheCasts) {
  for (const UpdateRule& rule : UpdateRules()) {
    for (const std::string& kernel : HostKernelNames(rule.op)) {
      const std::string family = kernel.substr(0, kernel.size() - rule.op.size() - 1);
      for (const bool applied : {true, false}) {
        for (const int threads : {1, 2}) {
          ExpectMixedUpdatesAreCasts(rule, applied, [&](const LocalNode& node, const std::vector<Values>& inputs) {
            return Outputs(node, inputs, {.family = family, .threads = threads});
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
