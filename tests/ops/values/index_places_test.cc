#include "ops/values/index_places.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

std::string Said(const LocalNode& node, size_t input, int64_t position) {
  return std::string(IndexPlaces(node, input).Refused("id", position, 9, 4).message());
}

// A rank's share of a node that reads [8] and [8,6], of a micro-batch or of none.
LocalNode Share(int32_t micro_batch = -1) {
  LocalNode node;
  node.micro_batch = micro_batch;
  node.inputs = {std::nullopt, LocalTensor{DType::kI32, {8}, {{4}, {4}}},
                 LocalTensor{DType::kI32, {8, 6}, {{4, 3}, {4, 3}}}};
  return node;
}

TEST(IndexPlaces, NameTheSampleOfTheWholeBatchAndThePlace) {
  EXPECT_EQ(Said(Share(), 1, 2), "sample 6 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share(), 2, 7), "sample 6 of the batch has id 9 at place 4, allowed are 0 to 4");
}

// A micro-batch of 8 samples begins behind those before it.
TEST(IndexPlaces, CountTheMicroBatchesBefore) {
  EXPECT_EQ(Said(Share(0), 1, 2), "sample 6 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share(12), 1, 2), "sample 102 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share(3), 2, 7), "sample 30 of the batch has id 9 at place 4, allowed are 0 to 4");
}

// A position of what is absent is its own sample's.
TEST(IndexPlaces, KnowNothingOfWhatIsAbsent) {
  for (const size_t absent : {size_t{0}, size_t{7}}) {
    EXPECT_EQ(Said(Share(3), absent, 2), "sample 2 of the batch has id 9, allowed are 0 to 4");
  }
}

}  // namespace
}  // namespace partita
