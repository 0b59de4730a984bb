// Optimizers as a user names them, beside numbers that their frameworks' formulas give in Python, in double, and beside
// PyTorch itself for 50 steps: what is not said is what PyTorch's optimizers and TensorFlow's RMSPropOptimizer have
// where nothing is said. The formulas over many steps of a session: tests/equivalence/optimizers_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/joint_nodes.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/mixed_updates.h"
#include "tests/ops/host/pytorch_optimizers.h"
#include "tests/ops/update_rules.h"

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
      // Of no framework: the algorithms of the papers, written out.
      {"lamb",
       {},
       {{0.839520954191398, -2.155712799269555},
        {0.6705664950327448, -2.313742295835915},
        {0.47534552321508683, -2.454878402203402},
        {0.23497590126925452, -2.52377149478946}}},
      {"lamb",
       {{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 0.01}, {"weight_decay", 0.1}, {"weight_norm_limit", 1.5}},
       {{0.8796713635020466, -2.0895601431360142},
        {0.7547054122072693, -2.1725270703841133},
        {0.616177548240548, -2.230059938423327},
        {0.4662934960882714, -2.224163252030647}}},
      {"lamb",
       {{"weight_decay", 0.1}, {"adapt", false}},
       {{0.8900003999984, -2.0799999000001},
        {0.7845824375528702, -2.152417746951255},
        {0.6809366681038561, -2.2029512140606666},
        {0.5780864147171789, -2.2110394008948995}}},
      {"lars",
       {},
       {{0.9999457673855453, -2.000216930457819},
        {0.9997388321442919, -2.0005702937581},
        {0.999328944295233, -2.0008883207283525},
        {0.998760000987755, -2.0010745228799176}}},
      {"lars",
       {{"trust", 0.5}, {"momentum", 0.8}, {"weight_decay", 0.1}},
       {{0.968804437530216, -2.071304142788078},
        {0.870920592073115, -2.1641305293672195},
        {0.6933147696116045, -2.2127199761663867},
        {0.4593886187806352, -2.189643766755402}}},
      {"lars",
       {{"momentum", 0.5}, {"weight_decay", 0.1}, {"adapt", false}},
       {{0.965, -2.08}, {0.88785, -2.1492}, {0.7653965, -2.162308}, {0.596515785, -2.09723892}}},
  };
}

Values SquaresOf(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return {sum};
}

// A phase of an update, and what it keeps from step to step.
struct Phase {
  Phase(const UpdatePhase& rule, size_t elements)
      : node(WholeNode(rule.op, rule.attributes,
                       UpdateTypes(rule.op, {DType::kF64, {static_cast<int64_t>(elements)}}, /*clipped=*/true))) {
    for (const Slot& slot : rule.slots) slots.push_back(Values(elements, slot.initial));
  }

  // The first output.
  Values Run(const Values& w, const Values& g, const std::map<std::string, Values>& scalars,
             const RunOptions& options) {
    std::vector<Values> inputs = {w, g};
    inputs.insert(inputs.end(), slots.begin(), slots.end());
    while (inputs.size() < node.inputs.size()) {
      const std::string& name = node.op->inputs[inputs.size()].name;
      inputs.push_back(name == "w_squares" ? SquaresOf(w) : name == "g_squares" ? SquaresOf(g) : scalars.at(name));
    }
    std::vector<Values> outputs = Outputs(node, inputs, options);
    slots.assign(outputs.begin() + 1, outputs.end());
    return outputs[0];
  }

  LocalNode node;
  std::vector<Values> slots;
};

// A parameter as an optimizer's ops change it from step to step.
class Followed {
 public:
  Followed(const std::string& optimizer, const Attributes& said, const Values& first, const RunOptions& options)
      : options_(options) {
    const absl::StatusOr<Optimizer> complete = CompleteOptimizer({optimizer, said, 0}, Ops().optimizers());
    EXPECT_TRUE(complete.ok()) << complete.status();
    const UpdateRule rule = FindOptimizer(optimizer, Ops().optimizers())->rule(complete->attributes);
    if (rule.direction) phases_.emplace_back(*rule.direction, first.size());
    phases_.emplace_back(rule, first.size());
    w_ = first;
  }

  const Values& w() const { return w_; }

  void Step(const Values& gradient, double rate, double clip) {
    std::map<std::string, Values> scalars = {
        {"rate", {rate}}, {"apply", {1}}, {"clip", {clip}}, {"iteration", {static_cast<double>(step_++)}}};
    Values made = gradient;
    for (Phase& phase : phases_) {
      made = phase.Run(w_, made, scalars, options_);
      scalars["clip"] = {1};
    }
    w_ = made;
  }

 private:
  const RunOptions options_;
  std::vector<Phase> phases_;
  Values w_;
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
  for (const UpdatePhase& rule : UpdatePhases()) {
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
