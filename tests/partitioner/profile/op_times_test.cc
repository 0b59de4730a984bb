#include "partitioner/profile/op_times.h"

#include <gmock/gmock.h>

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(OpTimes, AreThoseOfTheMiddleKernel) {
  OpTimes times;
  times.Add("conv2d", 800, 8);
  times.Add("conv2d", 2.5, 2);
  times.Add("conv2d", 1, 2);
  times.Add("relu", 3, 2);
  EXPECT_THAT(times.Times(), ElementsAre(Pair("conv2d", 1.25), Pair("relu", 1.5)));
}

TEST(OpTimes, OfNothingAreNone) { EXPECT_TRUE(OpTimes().Times().empty()); }

}  // namespace
}  // namespace partita
