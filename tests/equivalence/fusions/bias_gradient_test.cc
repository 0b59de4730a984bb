// A plan in which gradients of biases are made with those of weights, and those of relus with the products before them,
// as for a GPU, beside the serial run in which nothing is joined: step by step in f64.
#include <gtest/gtest.h>

#include <string>

#include "tests/equivalence/cases.h"
#include "tests/equivalence/fusions/joined_programs.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

// Masks are of whole rows.
bool SplitsChannels(const Case& one) { return one.strategy == "2x2" || one.strategy == "c2i2"; }

class BiasGradients : public testing::TestWithParam<Case> {};

TEST_P(BiasGradients, JoinedToWeightsAreWhatTheyAreAlone) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(JoinedPrograms programs, MakeJoinedPrograms(one));
  EXPECT_EQ(CountOf(programs.host, "matmul_bias_grad") + CountOf(programs.host, "matmul_relu_grad"), 0);
  EXPECT_GE(CountOf(programs.gpu, "matmul_bias_grad"), 2);
  EXPECT_EQ(CountOf(programs.gpu, "matmul_relu_grad"), CountOf(programs.gpu, "matmul_relu_mask"));
  EXPECT_GE(CountOf(programs.gpu, "matmul_relu_grad"), SplitsChannels(one) ? 0 : 2);
  ASSERT_OK_AND_ASSIGN(const auto verifier, StartBoth(std::move(programs.serial), std::move(programs.gpu)));
  ExpectEqualSteps(one, *verifier);
}

INSTANTIATE_TEST_SUITE_P(Table, BiasGradients,
                         testing::Values(Case{"lenet5", "1x1"}, Case{"lenet5", "2x2"}, Case{"lenet5", "c2i2"},
                                         Case{"lenet5", "micro"}, Case{"mlp", "2x2"}, Case{"mlp", "2x1"}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
