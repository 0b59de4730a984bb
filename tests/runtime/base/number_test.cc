#include "runtime/base/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace partita {
namespace {

TEST(NumberOf, IsAllOfTheTextOrNone) {
  EXPECT_EQ(NumberOf<int64_t>("-12"), -12);
  EXPECT_EQ(NumberOf<double>("2.5e-3"), 2.5e-3);
  for (const char* const text : {"", " 1", "1 ", "+1", "0x1", "1.5", "one"}) EXPECT_FALSE(NumberOf<int>(text)) << text;
}

TEST(NumberOf, FitsItsType) {
  EXPECT_EQ(NumberOf<int8_t>("127"), 127);
  EXPECT_FALSE(NumberOf<int8_t>("128"));
  EXPECT_FALSE(NumberOf<uint64_t>("-1"));
}

TEST(Counted, OneIsNoPlural) {
  EXPECT_EQ(Counted(1, "rank"), "1 rank");
  EXPECT_EQ(Counted(size_t{1}, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(Counted(1.0, "epoch"), "1 epoch");
  EXPECT_EQ(Counted(0, "rank"), "0 ranks");
  EXPECT_EQ(Counted(2, "rank"), "2 ranks");
  EXPECT_EQ(Counted(0.5, "epoch"), "0.5 epochs");
}

TEST(Counted, PluralsAreThoseOfTheWord) {
  EXPECT_EQ(Counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(Counted(2, "process"), "2 processes");
  EXPECT_EQ(Counted(2, "axis"), "2 axes");
  EXPECT_EQ(Counted(2, "hypothesis"), "2 hypotheses");
  EXPECT_EQ(Counted(2, "entry"), "2 entries");
  EXPECT_EQ(Counted(2, "replica"), "2 replicas");
}

}  // namespace
}  // namespace partita
