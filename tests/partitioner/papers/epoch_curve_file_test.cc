// Files of epochs by batch, and what wrong ones are told.
#include <gmock/gmock.h>

#include <tuple>

#include "partitioner/cost/time_to_accuracy.h"
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

TEST(EpochCurveFile, TheShippedOneOfInceptionGivesThePapersTippingPoint) {
  const absl::StatusOr<EpochCurve> curve = LoadEpochCurve("tools/curves/inception_v3.pbtxt");
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_EQ(TippingPoint(*curve, 2, 1.32, 64, 256)->value(), 64);
}

// From 8,192 to 16,384 pairs epochs rise by 9.9/7, so that a step has to be 1.41 times as fast, or less where replicas
// scale badly; the 1.15 times of Pal et al. are enough where the doubling leaves 0.81 of their efficiency.
TEST(EpochCurveFile, TheShippedOneOfGnmtIsSoonerSplitAtTheFarEnd) {
  const absl::StatusOr<EpochCurve> curve = LoadEpochCurve("tools/curves/gnmt.pbtxt");
  ASSERT_TRUE(curve.ok()) << curve.status();
  const auto needed = [&](int replicas, const ScalingEfficiency& efficiency) {
    return Decide(*curve, {replicas, 2, 1.15, 2048, efficiency})->needed;
  };
  EXPECT_NEAR(needed(4, {}), 2 * 7 / 9.9, 1e-12);
  EXPECT_NEAR(needed(1, {}), 2 * 4 / 5.4, 1e-12);
  EXPECT_GT(needed(4, {1, 0.82}), 1.15);
  EXPECT_LT(needed(4, {1, 0.81}), 1.15);
  EXPECT_EQ(TippingPoint(*curve, 2, 1.42, 2048, 8)->value(), 8);
  EXPECT_FALSE(TippingPoint(*curve, 2, 1.15, 2048, 8)->has_value());
  EXPECT_EQ(StepsAt(*curve, 2048)->steps_per_epoch, 1938);
}

TEST(EpochCurveFile, WhatIsPrintedReadsBack) {
  const EpochCurve curve{"a", {{8, 1.25}, {16, 4.0 / 3}}, "b", 100};
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const std::string bytes = PrintEpochCurve(curve, format);
    const absl::StatusOr<EpochCurve> read = ParseEpochCurve(bytes, format, "e");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->points[1].epochs, curve.points[1].epochs);
    EXPECT_EQ(PrintEpochCurve(*read, format), bytes);
    EXPECT_EQ(std::tuple(read->name, read->source, read->samples), std::tuple("a", "b", 100));
  }
}

TEST(EpochCurveFile, WrongOnesAreRefused) {
  EXPECT_THAT(Refusal(""), StartsWith("e.pbtxt: it has no points"));
  EXPECT_THAT(Refusal("points { batch: 64 epochs: 4 } points { batch: 32 epochs: 5 }"),
              StartsWith("e.pbtxt: point 1: batch 32 follows batch 64"));
  EXPECT_THAT(Refusal("points { batch: 64 epochs: nan }"), StartsWith("e.pbtxt: point 0: batch 64 needs nan epochs"));
  EXPECT_THAT(Refusal("point { }"), StartsWith("e.pbtxt"));
  EXPECT_THAT(Refusal("samples: -1 points { batch: 64 epochs: 4 }"), StartsWith("e.pbtxt: samples: an epoch has -1"));
}

}  // namespace
}  // namespace partita
