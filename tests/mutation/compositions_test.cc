// Random graphs over all ops that users may write, under random strategies, optimizers and options: each is refused in
// words or computes what one rank does (f64, 1e-10, 2 steps). The number of a test is its seed. 200 run by default,
// --test_env=PARTITA_COMPOSITIONS=2000 runs as many as it says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "tests/mutation/draw_composition.h"
#include "tests/mutation/draw_network.h"
#include "tests/mutation/judge.h"

namespace partita {
namespace {

TEST(Compositions, EveryOpOfUsersHasACase) { EXPECT_EQ(OpsWithoutCase(), std::set<std::string>()); }

class Compositions : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    int all = 0;
    for (const auto& [outcome, count] : counts_) all += count;
    std::cout << counts_[Outcome::kRan] << " of " << all << " ran, " << counts_[Outcome::kStopped]
              << " stopped at their data as one rank does, " << counts_[Outcome::kRefused] << " were refused:\n";
    for (const auto& [why, count] : refusals_) std::cout << "  " << count << "  " << why << "\n";
    if (all < 100) return;
    EXPECT_GT(counts_[Outcome::kRan], all / 2) << "strategies are too wild";
  }

  static inline std::map<Outcome, int> counts_;
  static inline std::map<std::string, int> refusals_;
};

TEST_P(Compositions, ComputeTheSameHoweverTheyAreSplit) {
  Dice dice(GetParam());
  Subject subject = DrawComposition(dice);
  const std::string groups = DrawGroups(subject, dice);
  subject.strategy = DrawStrategy(subject, dice);
  SCOPED_TRACE(ToText(subject) + subject.optimizer.name + groups);
  const Verdict verdict = Judge(subject, /*fuse=*/GetParam() % 2 == 1);
  ++counts_[verdict.outcome];
  if (verdict.outcome == Outcome::kRefused) ++refusals_[verdict.why];
  EXPECT_NE(verdict.outcome, Outcome::kWrong) << verdict.why;
}

int Count() {
  const char* const asked = std::getenv("PARTITA_COMPOSITIONS");
  return asked == nullptr ? 200 : std::max(1, std::atoi(asked));
}

INSTANTIATE_TEST_SUITE_P(Seed, Compositions, testing::Range(0, Count()));

}  // namespace
}  // namespace partita
