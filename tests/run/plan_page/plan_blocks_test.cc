#include "run/plan_page/plan_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace partita {
namespace {

// "ab cd*3" of the sequence of letters: repeats with their period's letters, the rest as it is.
std::string Folded(const std::string& letters) {
  std::string text;
  size_t done = 0;
  for (const Repeat& repeat : FindRepeats(std::vector<int>(letters.begin(), letters.end()))) {
    text += letters.substr(done, repeat.begin - done) + "(" + letters.substr(repeat.begin, repeat.period) + ")" +
            std::to_string(repeat.times);
    done = repeat.begin + repeat.period * repeat.times;
  }
  return text + letters.substr(done);
}

TEST(FindRepeats, FindsTheLongestWithItsShortestPeriod) {
  EXPECT_EQ(Folded(""), "");
  EXPECT_EQ(Folded("abcdef"), "abcdef");
  EXPECT_EQ(Folded("eabcabcabcn"), "e(abc)3n");
  EXPECT_EQ(Folded("aabaabaabx"), "(aab)3x");
  EXPECT_EQ(Folded("xababababy"), "x(ab)4y");
  EXPECT_EQ(Folded("aaaaaa"), "(a)6");
}

TEST(FindRepeats, FindsSeveralInOrder) {
  EXPECT_EQ(Folded("sabababstuvtuvtuve"), "s(ab)3s(tuv)3e");
  EXPECT_EQ(Folded("abcabc"), "(abc)2");
}

TEST(FindRepeats, LeavesShortOnesAlone) { EXPECT_EQ(Folded("aabccdabab"), "aabccdabab"); }

}  // namespace
}  // namespace partita
