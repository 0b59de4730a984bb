// The gradient of every op is the derivative of what the op computes: d<y, r>/dx by central differences in f64, for
// every case of the table.
#include <gtest/gtest.h>

#include <set>

#include "ops/registry.h"
#include "tests/gradients/finite_difference.h"
#include "tests/gradients/op_program.h"

namespace partita {
namespace {

constexpr size_t kMostElements = 256;  // of one input
constexpr uint64_t kSeeds = 10;

std::string TestName(const testing::TestParamInfo<OpCase>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

class OpGradient : public testing::TestWithParam<OpCase> {};

// <y, r> of a run. The zeros of a fused relu, where they differ from those of `origin`, show a kink on the way.
class Objective {
 public:
  Objective(OpProgram& program, const OpCase& op_case, uint64_t seed)
      : program_(program),
        inputs_(InputsOf(op_case, seed)),
        cotangents_(CotangentsOf(op_case, seed)),
        kinked_(op_case.attributes.Has("relu") && op_case.attributes.Bool("relu")) {}

  OpResult Origin() {
    OpResult result = Run();
    for (const std::vector<double>& output : result.outputs) zeros_.push_back(Zeros(output));
    return result;
  }

  double At(size_t input, size_t place, double step) {
    const double kept = inputs_[input][place];
    inputs_[input][place] = kept + step;
    const OpResult result = Run();
    inputs_[input][place] = kept;
    double sum = 0;
    for (size_t o = 0; o < result.outputs.size(); ++o) {
      sum += Inner(result.outputs[o], cotangents_[o]);
      crossed_ = crossed_ || (kinked_ && Zeros(result.outputs[o]) != zeros_[o]);
    }
    return sum;
  }

  bool crossed() const { return crossed_; }

 private:
  OpResult Run() {
    absl::StatusOr<OpResult> result = program_.Run(inputs_, cotangents_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : OpResult{};
  }

  OpProgram& program_;
  Tensors inputs_;
  const Tensors cotangents_;
  const bool kinked_;
  std::vector<std::vector<bool>> zeros_;
  bool crossed_ = false;
};

struct Difference {
  double worst = 0;  // relative to the input's largest derivative
  int checked = 0;
  bool crossed = false;
};

// `factor`: makes the gradient wrong, to see that it is noticed.
Difference CompareGradients(OpProgram& program, const OpCase& op_case, uint64_t seed, double factor = 1) {
  Objective objective(program, op_case, seed);
  const OpResult origin = objective.Origin();
  Difference difference;
  for (size_t i = 0; i < op_case.inputs.size() && !testing::Test::HasFailure(); ++i) {
    const std::vector<double>& gradient = origin.gradients[i];
    if (gradient.empty()) continue;
    std::vector<double> expected, found;
    for (size_t place : Sampled(gradient.size(), kMostElements, seed + i)) {
      expected.push_back(Derivative([&](double step) { return objective.At(i, place, step); }));
      found.push_back(factor * gradient[place]);
    }
    const double scale = std::max(Largest(expected), 1e-3);
    for (size_t k = 0; k < found.size(); ++k) {
      difference.worst = std::max(difference.worst, std::abs(found[k] - expected[k]) / scale);
    }
    difference.checked += static_cast<int>(found.size());
  }
  difference.crossed = objective.crossed();
  return difference;
}

TEST_P(OpGradient, IsTheDerivative) {
  const OpCase& op_case = GetParam();
  const absl::StatusOr<std::unique_ptr<OpProgram>> program = OpProgram::Start(op_case, {});
  ASSERT_TRUE(program.ok()) << program.status();
  Difference difference;
  uint64_t seed = 0;
  do {
    ASSERT_LT(++seed, kSeeds) << "every seed has a kink within the differences' steps";
    difference = CompareGradients(**program, op_case, seed);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  } while (difference.crossed);
  EXPECT_GT(difference.checked, 0);
  EXPECT_LE(difference.worst, kGradientTolerance) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Table, OpGradient, testing::ValuesIn(GradientCases()), TestName);

TEST(OpGradients, AnErrorOfAMillionthIsSeen) {
  for (const OpCase& op_case : GradientCases()) {
    const absl::StatusOr<std::unique_ptr<OpProgram>> program = OpProgram::Start(op_case, {});
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_GT(CompareGradients(**program, op_case, 1, 1 + 1e-6).worst, kGradientTolerance) << op_case.name;
  }
}

TEST(OpGradients, EveryOpWithAGradientHasACase) {
  std::set<std::string> covered;
  for (const OpCase& op_case : GradientCases()) covered.insert(op_case.op);
  for (const std::string& name : Ops().Names()) {
    if (Ops().Find(name)->gradient) {
      EXPECT_EQ(covered.count(name), 1u) << name;
    }
  }
}

}  // namespace
}  // namespace partita
