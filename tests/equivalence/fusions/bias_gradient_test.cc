// A plan in which gradients of biases are made with those of weights, and those of relus with the products before them,
// as for a GPU, beside the serial run in which nothing is joined: step by step in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/ir/op_definition.h"
#include "runtime/api/verify_plan.h"
#include "tests/equivalence/cases.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kSteps = 3;

int64_t Joined(const Program& program, const std::string& op) {
  return std::ranges::count(program.graph(kTrainEntry).nodes(), op, [](const Node& node) { return node.op->name; });
}

// Masks are of whole rows.
bool SplitsChannels(const Case& one) { return one.strategy == "2x2" || one.strategy == "c2i2"; }

class BiasGradients : public testing::TestWithParam<Case> {};

TEST_P(BiasGradients, JoinedToWeightsAreWhatTheyAreAlone) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions host{.floating = DType::kF64, .verify_passes = true};
  const ProgramOptions gpu{.floating = DType::kF64, .for_gpu = true, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, apart));
  ASSERT_OK_AND_ASSIGN(const Program unasked, PlanOf(one, model, host));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, gpu));
  EXPECT_EQ(Joined(unasked, "matmul_bias_grad") + Joined(unasked, "matmul_relu_grad"), 0);
  EXPECT_GE(Joined(plan, "matmul_bias_grad"), 2);
  EXPECT_EQ(Joined(plan, "matmul_relu_grad"), Joined(plan, "matmul_relu_mask"));
  EXPECT_GE(Joined(plan, "matmul_relu_grad"), SplitsChannels(one) ? 0 : 2);
  VerifyPlanOptions options;
  options.session.threads_per_rank = 1;
  options.tolerance = 1e-10;
  options.floor = 1e-6;
  options.same_beginning = false;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  EXPECT_FALSE(verifier->gradients().empty());
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(2, step, DType::kF64, BatchOf(one));
    ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
    ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, BiasGradients,
                         testing::Values(Case{"lenet5", "1x1"}, Case{"lenet5", "2x2"}, Case{"lenet5", "c2i2"},
                                         Case{"lenet5", "micro"}, Case{"mlp", "2x2"}, Case{"mlp", "2x1"}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
