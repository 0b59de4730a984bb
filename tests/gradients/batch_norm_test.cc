// The composite batch norm: what PrepareTraining, the adjoint and the fusing passes make of it gives the derivative of
// the loss, for x, gamma and beta, over the whole batch and over groups or by frozen statistics, followed by a relu or
// not, on one rank and split. With plain SGD at rate 1 the gradient is what a step takes from the parameters.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "graph/make_program.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/gradients/finite_difference.h"

namespace partita {
namespace {

struct Case {
  Shape x;
  int64_t statistics_samples = 0;
  bool relu = false;
  bool fuse = false;
  std::string split = "replicate";
  int ranks = 1;
  bool frozen = false;

  std::string Name() const {
    return fmt::format("{}_samples{}{}{}{}_{}{}", x.size() == 2 ? "dense" : "image", statistics_samples,
                       frozen ? "_frozen" : "", relu ? "_relu" : "", fuse ? "_fused" : "", split, ranks);
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.Name(); }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, int>> splits = {
      {"replicate", 1}, {"samples", 2}, {"samples", 3}, {"channels", 2}, {"at", 2}};
  for (const bool relu : {false, true}) {
    for (const bool fuse : {false, true}) {
      for (const auto& [split, ranks] : splits) {
        cases.push_back({{3, 4, 5, 3}, 0, relu, fuse, split, ranks});
        cases.push_back({{6, 2, 3, 3}, 2, relu, fuse, split, ranks});
        cases.push_back({{7, 5}, 0, relu, fuse, split, ranks});
        cases.push_back({{5, 3, 1, 2}, 5, relu, fuse, split, ranks});
        cases.push_back({{9, 3}, 3, relu, fuse, split, ranks});
        cases.push_back({{3, 4, 5, 3}, 0, relu, fuse, split, ranks, true});
        cases.push_back({{7, 5}, 0, relu, fuse, split, ranks, true});
      }
    }
  }
  return cases;
}

using Numbers = std::map<std::string, std::vector<double>>;  // by state

// loss = <relu?(batch_norm(x, gamma, beta)), r>
absl::StatusOr<Graph> MakeGraph(const Case& c) {
  const int64_t channels = c.x.back(), elements = Elements(c.x);
  const auto state = [](const std::string& name, const std::string& op, const Shape& shape) {
    return NodeDescription{
        name, op, {}, {{"dtype", "f64"}, {"shape", shape}, {"initializer", "constant"}, {"scale", 1.0}}};
  };
  std::vector<NodeDescription> nodes = {
      state("x", "parameter", c.x),
      state("gamma", "parameter", {channels}),
      state("beta", "parameter", {channels}),
      state("mean", "state", {channels}),
      state("variance", "state", {channels}),
      state("r", "state", c.x),
      {"norm",
       "batch_norm",
       {"x", "gamma", "beta", "mean", "variance"},
       {{"statistics_samples", c.statistics_samples}, {"frozen", c.frozen}}},
      {"weighted", "mul", {c.relu ? "y" : "norm", "r"}, {}},
      {"row", "reshape", {"weighted"}, {{"shape", Shape{1, elements}}}},
      {"ones", "constant", {}, {{"dtype", "f64"}, {"shape", Shape{elements, 1}}, {"value", 1.0}}},
      {"sum", "matmul", {"row", "ones"}, {}},
      {"loss", "reshape", {"sum"}, {{"shape", Shape{}}}}};
  if (c.relu) nodes.push_back({"y", "relu", {"norm"}, {}});
  return BuildGraph(nodes, "loss", {}, Ops());
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const Case& c, bool serial) {
  Model model;
  ASSIGN_OR_RETURN(model.graph, MakeGraph(c));
  model.learning_rate.base = 1;
  Strategy strategy;
  if (!serial) {
    strategy.mesh.axes = {{"a", c.ranks}};
    strategy.ops.push_back({"norm", {{"a", {c.split, 0, {}}}}, {}});
  }
  ProgramOptions program_options;
  program_options.floating = DType::kF64;
  program_options.fuse = c.fuse;
  program_options.verify_passes = true;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), program_options));
  SessionOptions options;
  options.threads_per_rank = 1;
  options.tests.observe = true;
  options.tests.reference_kernels = true;
  return Session::Start(std::move(program), options);
}

HostTensor InF64(const Shape& shape, const std::vector<double>& numbers) {
  HostTensor tensor{DType::kF64, shape, std::vector<char>(numbers.size() * sizeof(double))};
  std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return tensor;
}

// One step from these states. The states afterwards, and the zeros of y if a relu makes it.
struct Step {
  double loss = 0;
  Numbers after;
  std::vector<bool> zeros;
};

absl::StatusOr<Step> RunStep(Session& session, const Case& c, const Numbers& states) {
  for (const auto& [name, numbers] : states) {
    ASSIGN_OR_RETURN(const HostTensor now, session.ReadState(name));
    RETURN_IF_ERROR(session.WriteState(name, InF64(now.shape, numbers)));
  }
  ASSIGN_OR_RETURN(const StepResult result, session.Train());
  Step step;
  step.loss = result.loss;
  for (const auto& [name, numbers] : states) {
    ASSIGN_OR_RETURN(const HostTensor after, session.ReadState(name));
    step.after[name] = ToDoubles(after);
  }
  if (c.relu) {
    ASSIGN_OR_RETURN(const WholeValue y, session.Observed("y"));
    step.zeros = Zeros(y.elements);
  }
  return step;
}

Numbers RandomStates(const Case& c, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Numbers states;
  for (const auto& [name, shape] : std::map<std::string, Shape>{{"x", c.x},
                                                                {"r", c.x},
                                                                {"gamma", {c.x.back()}},
                                                                {"beta", {c.x.back()}},
                                                                {"mean", {c.x.back()}},
                                                                {"variance", {c.x.back()}}}) {
    std::uniform_real_distribution<double> uniform(name == "variance" ? 0.5 : -1, name == "variance" ? 2 : 1);
    for (int64_t i = 0; i < Elements(shape); ++i) states[name].push_back(uniform(generator));
  }
  return states;
}

// Compares the split step's update with the derivatives of the serial loss. False if a relu's kink was crossed.
bool Compare(Session& serial, Session& plan, const Case& c, uint64_t seed) {
  Numbers states = RandomStates(c, seed);
  const absl::StatusOr<Step> origin = RunStep(plan, c, states);
  EXPECT_TRUE(origin.ok()) << origin.status();
  if (!origin.ok()) return true;
  bool crossed = false;
  for (const std::string name : {"x", "gamma", "beta"}) {
    std::vector<double> expected;
    double worst = 0;
    for (size_t i = 0; i < states[name].size(); ++i) {
      const double kept = states[name][i];
      expected.push_back(Derivative([&](double h) {
        states[name][i] = kept + h;
        const absl::StatusOr<Step> step = RunStep(serial, c, states);
        EXPECT_TRUE(step.ok()) << step.status();
        crossed = crossed || !step.ok() || step->zeros != origin->zeros;
        return step.ok() ? step->loss : 0;
      }));
      states[name][i] = kept;
      worst = std::max(worst, std::abs(kept - origin->after.at(name)[i] - expected[i]));
    }
    EXPECT_GT(Largest(expected), 1e-3) << name;
    EXPECT_TRUE(crossed || worst <= kGradientTolerance * Largest(expected)) << name << " " << worst << " seed " << seed;
  }
  return !crossed;
}

class BatchNormGradient : public testing::TestWithParam<Case> {};

TEST_P(BatchNormGradient, IsTheDerivativeOfTheLoss) {
  const Case& c = GetParam();
  absl::StatusOr<std::unique_ptr<Session>> serial = MakeSession(c, true), plan = MakeSession(c, false);
  ASSERT_TRUE(serial.ok()) << serial.status();
  ASSERT_TRUE(plan.ok()) << plan.status();
  uint64_t seed = 1;
  while (!Compare(**serial, **plan, c, seed)) ASSERT_LT(++seed, 10u) << "every seed has a kink within the steps";
}

INSTANTIATE_TEST_SUITE_P(Composite, BatchNormGradient, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
