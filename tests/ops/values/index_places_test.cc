#include "ops/values/index_places.h"

#include <gtest/gtest.h>

#include "graph/ir/generated_name.h"

namespace partita {
namespace {

std::string Said(const LocalNode& node, size_t input, int64_t position) {
  return std::string(IndexPlaces(node, input).Refused("id", position, 9, 4).message());
}

// A rank's share of a node that reads [8] and [8,6].
LocalNode Share(const std::string& name) {
  LocalNode node;
  node.name = name;
  node.inputs = {std::nullopt, LocalTensor{DType::kI32, {8}, {{4}, {4}}},
                 LocalTensor{DType::kI32, {8, 6}, {{4, 3}, {4, 3}}}};
  return node;
}

TEST(IndexPlaces, NameTheSampleOfTheWholeBatchAndThePlace) {
  EXPECT_EQ(Said(Share("loss"), 1, 2), "sample 6 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share("loss"), 2, 7), "sample 6 of the batch has id 9 at place 4, allowed are 0 to 4");
}

// A micro-batch of 8 samples begins behind those before it.
TEST(IndexPlaces, CountTheMicroBatchesBefore) {
  EXPECT_EQ(Said(Share(MicroBatchName("loss", 0)), 1, 2), "sample 6 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share(MicroBatchName("loss", 12)), 1, 2), "sample 102 of the batch has id 9, allowed are 0 to 4");
  EXPECT_EQ(Said(Share(MicroBatchName("loss", 3) + "@d"), 2, 7),
            "sample 30 of the batch has id 9 at place 4, allowed are 0 to 4");
}

TEST(IndexPlaces, KnowNothingOfWhatIsAbsent) {
  IndexPlaces(Share("loss"), 0);
  IndexPlaces(Share("loss"), 7);
}

}  // namespace
}  // namespace partita
