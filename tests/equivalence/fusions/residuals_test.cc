// ResNet-50, small, with the sums and relus behind its batch norms joined to them as for a GPU, beside the serial run
// in which nothing is joined: step by step in f64.
#include <gtest/gtest.h>

#include <string>

#include "tests/equivalence/cases.h"
#include "tests/equivalence/fusions/joined_programs.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kBlocks = 16;

// Ranks that share the samples or the rows of images add up statistics, so that their batch norms stay in two parts.
bool AddsStatistics(const Case& one) { return one.strategy == "2x1" || one.strategy == "2x2" || one.strategy == "h2"; }

class Residuals : public testing::TestWithParam<Case> {};

TEST_P(Residuals, AreWhatTheirPartsAre) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(JoinedPrograms programs, MakeJoinedPrograms(one));
  const bool parts = AddsStatistics(one);
  EXPECT_EQ(CountOf(programs.host, "relu_grad"), kBlocks);
  EXPECT_EQ(CountOf(programs.gpu, parts ? "batch_norm_normalize_add" : "batch_norm_forward_add"), kBlocks);
  EXPECT_EQ(CountOf(programs.gpu, parts ? "batch_norm_gradient_sums_relu" : "batch_norm_backward_relu"), kBlocks);
  EXPECT_EQ(CountOf(programs.gpu, "relu") + CountOf(programs.gpu, "relu_grad"), 0);
  // The gradient of a batch norm of few elements is ill-conditioned, and 53 follow each other.
  constexpr double kTolerance = 1e-8;
  ASSERT_OK_AND_ASSIGN(const auto verifier, StartBoth(std::move(programs.serial), std::move(programs.gpu), kTolerance));
  ExpectEqualSteps(one, *verifier, /*channels=*/3);
}

INSTANTIATE_TEST_SUITE_P(Table, Residuals,
                         testing::Values(Case{"resnet-50", "1x1", true}, Case{"resnet-50", "1x2", true},
                                         Case{"resnet-50", "2x1", true}, Case{"resnet-50", "2x2", true},
                                         Case{"resnet-50", "h2", true}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
