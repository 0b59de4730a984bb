// Files of epochs by batch, and what wrong ones are told.
#include <gmock/gmock.h>

#include "partitioner/papers/time_to_accuracy.h"
#include "partitioner/proto_io/epoch_curve_io.h"

namespace partita {
namespace {

using ::testing::StartsWith;

std::string Refusal(const std::string& points) {
  const absl::Status status =
      ParseEpochCurve("schema_version: 1\n" + points + "\n", ProtoFormat::kText, "e.pbtxt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(EpochCurveFile, TheShippedOneGivesThePapersTippingPoint) {
  const absl::StatusOr<EpochCurve> curve = LoadEpochCurve("tools/curves/inception_v3.pbtxt");
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_EQ(TippingPoint(*curve, 2, 1.32, 64)->value(), 64);
}

TEST(EpochCurveFile, WrongOnesAreRefused) {
  EXPECT_THAT(Refusal(""), StartsWith("e.pbtxt: it has no points"));
  EXPECT_THAT(Refusal("points { batch: 64 epochs: 4 } points { batch: 32 epochs: 5 }"),
              StartsWith("e.pbtxt: point 1: batch 32 follows batch 64"));
  EXPECT_THAT(Refusal("points { batch: 64 epochs: nan }"), StartsWith("e.pbtxt: point 0: batch 64 needs nan epochs"));
  EXPECT_THAT(Refusal("point { }"), StartsWith("e.pbtxt"));
}

}  // namespace
}  // namespace partita
