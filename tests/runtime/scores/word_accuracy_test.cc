#include "runtime/scores/word_accuracy.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(WordAccuracy, CountsSequencesThatAreRightAsAWhole) {
  WordAccuracy accuracy;
  accuracy.Add({"T", "AX0", "M", "EY1"}, {"T", "AX0", "M", "EY1"});
  EXPECT_TRUE(accuracy.has_stress());
  accuracy.Add({"T", "AX1", "M", "EY0"}, {"T", "AX0", "M", "EY1"});  // stressed otherwise
  accuracy.Add({"T", "AX", "M", "EY"}, {"T", "AX0", "M", "EY1"});    // not at all
  accuracy.Add({"T", "AX0", "M"}, {"T", "AX0", "M", "EY1"});         // an end is missing
  accuracy.Add({"T", "AX0", "M", "EY1", "T"}, {"T", "AX0", "M", "EY1"});
  accuracy.Add({}, {"T"});
  EXPECT_EQ(accuracy.sequences(), 6);
  EXPECT_EQ(accuracy.right(), 1);
  EXPECT_EQ(accuracy.right_without_stress(), 3);
}

TEST(WordAccuracy, NumbersAreNoStress) {
  WordAccuracy accuracy;
  accuracy.Add({"7", "x-1", "a12"}, {"8", "x-1", "a12"});
  accuracy.Add({"ps3"}, {"ps2"});
  accuracy.Add({"MP3"}, {"MP4"});
  accuracy.Add({"the", "one"}, {"the", "PS2"});  // of some lines
  EXPECT_FALSE(accuracy.has_stress());
  EXPECT_EQ(accuracy.right_without_stress(), 0);
}

}  // namespace
}  // namespace partita
