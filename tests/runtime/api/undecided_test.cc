// Which samples' classes are ties, and what that lets an accuracy differ by.
#include "runtime/api/undecided.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

WholeValue Floats(const Shape& shape, const std::vector<double>& elements) { return {DType::kF32, shape, elements}; }

// Decided for the label, decided against it, a tie of the label, a tie of two other classes.
const WholeValue kLogits = Floats({4, 3}, {3, 1, 0, 0, 5, 1, 2, 0, 2 + 1e-7, 0, 7, 7 + 1e-7});
const WholeValue kLabels{DType::kI32, {4}, {0, 2, 0, 0}};

TEST(UndecidedAccuracy, CountsTiesOfTheLabelAlone) {
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(kLogits, kLabels, nullptr, {4}, 1e-6), (1 + 0.25) / 4);
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(kLogits, kLabels, nullptr, {4}, 1e-8), 0.25 / 4);
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(kLogits, kLabels, nullptr, {8}, 2), (2 + 0.25) / 8);
}

// One sample's class, where none is a tie, is always more than what is allowed.
TEST(UndecidedAccuracy, AllowsLessThanAnySample) {
  const WholeValue weights = Floats({4}, {0, 0.5, 2, 8});
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(kLogits, kLabels, &weights, {4}, 1e-6), (2 + 0.125) / 4);
  EXPECT_LT(UndecidedAccuracy(kLogits, kLabels, &weights, {4}, 1e-8), 0.5 / 4);
}

TEST(UndecidedAccuracy, OfOneClassNothingIsUndecided) {
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(Floats({2, 1}, {1, 2}), {DType::kI32, {2}, {0, 0}}, nullptr, {2}, 1), 0.25 / 2);
}

// The tie of two classes above the label decides whether it is the second or the third.
TEST(UndecidedAccuracy, OfTheFirstTwoTheSecondDecides) {
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(kLogits, kLabels, nullptr, {4, 2}, 1e-6), 0.25 / 4);
  const WholeValue near = Floats({1, 3}, {7, 2, 2 + 1e-7});
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(near, {DType::kI32, {1}, {1}}, nullptr, {1, 2}, 1e-6), 1.25);
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(near, {DType::kI32, {1}, {1}}, nullptr, {1, 3}, 1e-6), 0.25);
}

// Logits of two places in each sample, which share its weight; the rows of an ignored label, which is no class.
TEST(UndecidedAccuracy, OfPlacesAndIgnoredLabels) {
  const WholeValue logits = Floats({2, 2, 3}, kLogits.elements), labels{DType::kI32, {2, 2}, {0, -100, 0, 0}};
  const WholeValue weights = Floats({2}, {2, 8});
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(logits, labels, nullptr, {3, 1, -100}, 1e-6), (1 + 0.25) / 3);
  EXPECT_DOUBLE_EQ(UndecidedAccuracy(logits, labels, &weights, {4, 1, -100}, 1e-6), (8 + 0.5) / 4);
}

}  // namespace
}  // namespace partita
