// What Cbc 2.10.8 writes, and what is made of it.
#include "run/solver/cbc_answer.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr char kStopped[] =
    "Result - Stopped on time limit\n\nObjective value:                583.57273440\n"
    "Lower bound:                    522.852\nGap:                            0.12\n";

TEST(ReadCbcAnswer, TheBest) {
  const auto answer = ReadCbcAnswer("",
                                    "Optimal - objective value 9.00000000\n      0 last   9    0\n"
                                    "      2 x0_0        0.9999999      1.5\n      3 x0_1   0   1\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->proven);
  EXPECT_EQ(answer->lower_bound, 9);
  EXPECT_EQ(answer->values, (std::map<std::string, double>{{"last", 9}, {"x0_0", 0.9999999}}));
}

TEST(ReadCbcAnswer, WhatItHasWhenTimeIsOver) {
  const auto answer =
      ReadCbcAnswer(kStopped, "Stopped on time - objective value 583.57273440\n      1 last  583.5  0\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->proven);
  EXPECT_LT(answer->lower_bound, 522.852) << "which may have been rounded up";
  EXPECT_GT(answer->lower_bound, 522.84);
  EXPECT_EQ(answer->values.size(), 1U);
}

TEST(ReadCbcAnswer, NothingFoundWhenTimeIsOver) {
  const auto answer = ReadCbcAnswer(
      kStopped, "Stopped on time (no integer solution - continuous used) - objective value 517.9\n 1 x0_0 0.5 0\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->proven);
  EXPECT_GT(answer->lower_bound, 522);
  EXPECT_TRUE(answer->values.empty());
}

TEST(ReadCbcAnswer, ThereCanBeNone) {
  for (const char* file : {"Infeasible - objective value 4.0\n**   0 x0  4  0\n",
                           "Integer infeasible - objective value 4.0\n      0 x0  4  0\n"}) {
    const auto answer = ReadCbcAnswer("", file);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer->proven);
    EXPECT_TRUE(answer->values.empty());
  }
}

TEST(ReadCbcAnswer, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ReadCbcAnswer("", "Unbounded\n").status().message(),
            "cbc found no answer: its solution begins with 'Unbounded'");
  EXPECT_EQ(ReadCbcAnswer("", "").status().message(), "cbc found no answer: its solution begins with ''");
  EXPECT_EQ(ReadCbcAnswer("", "Optimal - objective value 9\n 0 last\n").status().message(),
            "cbc's solution has the line ' 0 last'");
}

}  // namespace
}  // namespace partita
