// Random networks under random strategies: each is refused in words or computes what one rank does (f64, 1e-10, 2
// steps), and what flags make is never refused. The number of a test is its seed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tests/mutation/draw_network.h"
#include "tests/mutation/judge.h"

namespace partita {
namespace {

constexpr int kNetworks = 400;

class Networks : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    int all = 0;
    for (const auto& [outcome, count] : counts_) all += count;
    std::cout << counts_[Outcome::kRan] << " of " << all << " ran, " << counts_[Outcome::kRefused] << " were refused\n";
    if (all < 100) return;
    EXPECT_GT(counts_[Outcome::kRan], all / 2) << "strategies are too wild";
  }

  void Expect(Subject subject, bool may_be_refused) {
    Dice dice(kNetworks + GetParam());
    const std::string groups = DrawGroups(subject, dice);
    SCOPED_TRACE(ToText(subject) + groups);
    const Verdict verdict = Judge(subject, /*fuse=*/GetParam() % 2 == 1);
    ++counts_[verdict.outcome];
    EXPECT_NE(verdict.outcome, Outcome::kWrong) << verdict.why;
    EXPECT_TRUE(may_be_refused || verdict.outcome != Outcome::kRefused) << verdict.why;
  }

  static inline std::map<Outcome, int> counts_;
};

TEST_P(Networks, ComputeTheSameHoweverTheyAreSplit) {
  Dice dice(GetParam());
  Subject subject = DrawNetwork(dice);
  subject.strategy = DrawStrategy(subject, dice);
  Expect(subject, true);
}

TEST_P(Networks, ComputeTheSameUnderAnyFlags) {
  Dice dice(GetParam());
  Subject subject = DrawNetwork(dice);
  const absl::StatusOr<Strategy> strategy = DrawFlags(subject, dice);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  subject.strategy = *strategy;
  Expect(subject, false);
}

INSTANTIATE_TEST_SUITE_P(Seed, Networks, testing::Range(0, kNetworks));

}  // namespace
}  // namespace partita
