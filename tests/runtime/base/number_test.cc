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

}  // namespace
}  // namespace partita
