// 1,000 random mutations of valid graphs and strategies: each is refused with a diagnostic, or computes what one rank
// does with the same mutated graph (f64, 1e-10, 2 steps). None crashes. The number of a test is its seed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tests/mutation/judge.h"
#include "tests/mutation/mutations.h"

namespace partita {
namespace {

constexpr int kMutations = 1000;

class Mutations : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    std::cout << counts_[Outcome::kRefused] << " mutations were refused, " << counts_[Outcome::kRan]
              << " ran as one rank does, " << counts_[Outcome::kStopped] << " stopped at their data as one rank does, "
              << counts_[Outcome::kPlanned] << " were only planned, " << counts_[Outcome::kWrong] << " are wrong\n";
    int all = 0;
    for (const auto& [outcome, count] : counts_) all += count;
    if (all < 100) return;
    EXPECT_GT(counts_[Outcome::kRefused], all / 10) << "mutations are too tame";
    EXPECT_GT(counts_[Outcome::kRan], all / 10) << "mutations are too wild";
  }

  static inline std::map<Outcome, int> counts_;
};

TEST_P(Mutations, AreRefusedOrComputeTheSame) {
  Dice dice(GetParam());
  Subject subject = DrawSubject(dice);
  std::string said = subject.model + " on " + subject.strategy.mesh.ToString();
  Dice others(kMutations + GetParam());
  said += DrawGroups(subject, others);
  for (size_t mutations = 1 + dice.Below(2); mutations-- > 0;) said += "; " + Mutate(subject, dice);
  SCOPED_TRACE(said);
  std::cout << said << std::endl;  // before anything can crash
  const Verdict verdict = Judge(subject);
  ++counts_[verdict.outcome];
  std::cout << " -> " << static_cast<int>(verdict.outcome) << " " << verdict.why << "\n";
  EXPECT_NE(verdict.outcome, Outcome::kWrong) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Seed, Mutations, testing::Range(0, kMutations));

// What is mutated is valid: refusals are the mutations' doing.
TEST(Unmutated, SubjectsRun) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Dice dice(seed), others(kMutations + seed);
    Subject subject = DrawSubject(dice);
    DrawGroups(subject, others);
    const Verdict verdict = Judge(subject);
    EXPECT_EQ(verdict.outcome, Outcome::kRan)
        << seed << " " << subject.model << " on " << subject.strategy.mesh.ToString() << ": " << verdict.why;
  }
}

}  // namespace
}  // namespace partita
