#include "partitioner/profile/crowding.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(Crowding, LiesInLineBetweenWhatWasMeasured) {
  Crowding crowding;
  crowding.Add(1, 1);
  crowding.Add(2, 1.25);
  crowding.Add(4, 2.25);
  EXPECT_DOUBLE_EQ(crowding.At(1), 1);
  EXPECT_DOUBLE_EQ(crowding.At(1.5), 1.125);
  EXPECT_DOUBLE_EQ(crowding.At(2), 1.25);
  EXPECT_DOUBLE_EQ(crowding.At(3), 1.75);
  EXPECT_DOUBLE_EQ(crowding.At(4), 2.25);
}

TEST(Crowding, IsBeyondThemAsTheNearestIs) {
  Crowding crowding;
  crowding.Add(3.5, 1.75);
  crowding.Add(0.875, 1);
  EXPECT_DOUBLE_EQ(crowding.At(0), 1);
  EXPECT_DOUBLE_EQ(crowding.At(64), 1.75);
}

TEST(Crowding, NobodyIsQuickerForCompany) {
  Crowding crowding;
  crowding.Add(2, 0.75);
  EXPECT_DOUBLE_EQ(crowding.At(2), 1);
}

}  // namespace
}  // namespace partita
