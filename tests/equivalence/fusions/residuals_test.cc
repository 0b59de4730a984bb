// ResNet-50, small, with the sums and relus behind its batch norms joined to them as for a GPU, beside the serial run
// in which nothing is joined: step by step in f64.
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
constexpr int kBlocks = 16;

int64_t Count(const Program& program, const std::string& op) {
  return std::ranges::count(program.graph(kTrainEntry).nodes(), op, [](const Node& node) { return node.op->name; });
}

// Ranks that share the samples or the rows of images add up statistics, so that their batch norms stay in two parts.
bool AddsStatistics(const Case& one) { return one.strategy == "2x1" || one.strategy == "2x2" || one.strategy == "h2"; }

class Residuals : public testing::TestWithParam<Case> {};

TEST_P(Residuals, AreWhatTheirPartsAre) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions host{.floating = DType::kF64, .verify_passes = true};
  const ProgramOptions gpu{.floating = DType::kF64, .for_gpu = true, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, apart));
  ASSERT_OK_AND_ASSIGN(const Program unasked, PlanOf(one, model, host));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, gpu));
  const bool parts = AddsStatistics(one);
  EXPECT_EQ(Count(unasked, "relu_grad"), kBlocks);
  EXPECT_EQ(Count(plan, parts ? "batch_norm_normalize_add" : "batch_norm_forward_add"), kBlocks);
  EXPECT_EQ(Count(plan, parts ? "batch_norm_gradient_sums_relu" : "batch_norm_backward_relu"), kBlocks);
  EXPECT_EQ(Count(plan, "relu") + Count(plan, "relu_grad"), 0);
  VerifyPlanOptions options;
  options.session.threads_per_rank = 1;
  options.tolerance =
      1e-8;  // the gradient of a batch norm of few elements is ill-conditioned, and 53 follow each other
  options.floor = 1e-6;
  options.same_beginning = false;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  EXPECT_FALSE(verifier->gradients().empty());
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(2, step, DType::kF64, BatchOf(one), /*channels=*/3);
    ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
    ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Residuals,
                         testing::Values(Case{"resnet-50", "1x1", true}, Case{"resnet-50", "1x2", true},
                                         Case{"resnet-50", "2x1", true}, Case{"resnet-50", "2x2", true},
                                         Case{"resnet-50", "h2", true}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
