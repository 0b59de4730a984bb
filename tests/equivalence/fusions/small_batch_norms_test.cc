// A plan in which small batch norms are one node forward and one backward, as for a GPU, beside the serial run in which
// nothing is joined: step by step in f64.
#include <gtest/gtest.h>

#include <string>

#include "tests/equivalence/cases.h"
#include "tests/equivalence/fusions/joined_programs.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

// Ranks that share the samples add up statistics; "placement" has two replicas.
bool SplitsSamples(const Case& one) {
  return one.strategy == "2x1" || one.strategy == "2x2" || one.strategy == "placement";
}

class SmallBatchNorms : public testing::TestWithParam<Case> {};

TEST_P(SmallBatchNorms, AtOnceAreWhatTheirPartsAre) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(JoinedPrograms programs, MakeJoinedPrograms(one));
  const int64_t all = CountOf(programs.host, "batch_norm_normalize");
  EXPECT_GT(all, 2);
  EXPECT_EQ(CountOf(programs.host, "batch_norm_forward") + CountOf(programs.host, "batch_norm_backward"), 0);
  for (const char* const op : {"batch_norm_forward", "batch_norm_backward"}) {
    EXPECT_EQ(CountOf(programs.gpu, op), SplitsSamples(one) ? 0 : all) << op;
  }
  ASSERT_OK_AND_ASSIGN(const auto verifier, StartBoth(std::move(programs.serial), std::move(programs.gpu)));
  ExpectEqualSteps(one, *verifier);
}

INSTANTIATE_TEST_SUITE_P(Table, SmallBatchNorms,
                         testing::Values(Case{"mini-inception", "1x1", true}, Case{"mini-inception", "1x2", true},
                                         Case{"mini-inception", "2x1", true}, Case{"mini-inception", "2x2", true},
                                         Case{"mini-inception", "placement", true},
                                         Case{"mini-inception", "micro", true}, Case{"lenet5", "1x2", true}),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
