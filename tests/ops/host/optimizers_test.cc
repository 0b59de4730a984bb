// Optimizers as a user names them, beside numbers that their frameworks' formulas give in Python, in double: what is
// not said is what PyTorch's SGD and Adam and TensorFlow's RMSPropOptimizer have where nothing is said. The formulas
// over many steps of a session: tests/equivalence/optimizers_test.cc.
#include <gtest/gtest.h>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/mixed_updates.h"
#include "tests/ops/host/step_scalars.h"

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

// The update's node: two elements in f64, clipped.
LocalNode NodeOf(const UpdateRule& rule) {
  const TensorType tensor{DType::kF64, {2}}, scalar{DType::kF64, {}}, whole{DType::kI32, {}};
  std::vector<std::optional<TensorType>> types(2 + rule.slots.size(), tensor);
  types.insert(types.end(), {scalar, whole, scalar});  // rate, apply, clip
  if (types.size() < Ops().Find(rule.op)->inputs.size()) types.push_back(whole);
  return WholeNode(rule.op, rule.attributes, types);
}

void Follow(const Golden& golden, const RunOptions& options) {
  const absl::StatusOr<Optimizer> complete = CompleteOptimizer({golden.name, golden.said, 0}, Ops().optimizers());
  ASSERT_TRUE(complete.ok()) << complete.status();
  const UpdateRule rule = FindOptimizer(golden.name, Ops().optimizers())->rule(complete->attributes);
  const LocalNode node = NodeOf(rule);
  std::vector<Values> states = {Values{1, -2}};  // the parameter and its slots
  for (const Slot& slot : rule.slots) states.push_back(Values(2, slot.initial));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Values> inputs = states;
    inputs.insert(inputs.begin() + 1, Values{0.5 * (step + 1), 2.0 - step});
    inputs.push_back({kRate});
    inputs.push_back({1});  // apply
    inputs.push_back({kClip});
    if (inputs.size() < node.inputs.size()) inputs.push_back({static_cast<double>(step)});
    states = Outputs(node, inputs, options);
    EXPECT_LE(Distance(states[0], golden.w[step]), 1e-12) << "step " << step;
  }
}

class FromPython : public testing::TestWithParam<Golden> {};

TEST_P(FromPython, TheReference) { Follow(GetParam(), {.reference_only = true}); }
TEST_P(FromPython, TheFirstKernel) { Follow(GetParam(), {}); }

INSTANTIATE_TEST_SUITE_P(Optimizers, FromPython, testing::ValuesIn(Goldens()));

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
