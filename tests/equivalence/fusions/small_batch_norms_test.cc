// A plan in which small batch norms are one node forward and one backward, as for a GPU, beside the serial run in which
// nothing is joined: step by step in f64.
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

int64_t Count(const Program& program, const std::string& op) {
  return std::ranges::count(program.graph(kTrainEntry).nodes(), op, [](const Node& node) { return node.op->name; });
}

// Ranks that share the samples add up statistics; "placement" has two replicas.
bool SplitsSamples(const Case& one) {
  return one.strategy == "2x1" || one.strategy == "2x2" || one.strategy == "placement";
}

class SmallBatchNorms : public testing::TestWithParam<Case> {};

TEST_P(SmallBatchNorms, AtOnceAreWhatTheirPartsAre) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions host{.floating = DType::kF64, .verify_passes = true};
  const ProgramOptions gpu{.floating = DType::kF64, .for_gpu = true, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, apart));
  ASSERT_OK_AND_ASSIGN(const Program unasked, PlanOf(one, model, host));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, gpu));
  const int64_t all = Count(unasked, "batch_norm_normalize");
  EXPECT_GT(all, 2);
  EXPECT_EQ(Count(unasked, "batch_norm_forward") + Count(unasked, "batch_norm_backward"), 0);
  for (const char* const op : {"batch_norm_forward", "batch_norm_backward"}) {
    EXPECT_EQ(Count(plan, op), SplitsSamples(one) ? 0 : all) << op;
  }
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

INSTANTIATE_TEST_SUITE_P(Table, SmallBatchNorms,
                         testing::Values(Case{"mini-inception", "1x1", true}, Case{"mini-inception", "1x2", true},
                                         Case{"mini-inception", "2x1", true}, Case{"mini-inception", "2x2", true},
                                         Case{"mini-inception", "placement", true},
                                         Case{"mini-inception", "micro", true}, Case{"lenet5", "1x2", true}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
