// The golden tables of docs/papers.md 14.2, exactly, and curves that are refused.
#include "partitioner/cost/time_to_accuracy.h"

#include <gmock/gmock.h>

namespace partita {
namespace {

using ::testing::HasSubstr;

const EpochCurve kInception = {"inception-v3", {{64, 4}, {2048, 4}, {4096, 7}, {8192, 12}, {16384, 23}}};

Decision OnDevices(int devices) {
  const absl::StatusOr<Decision> decision = Decide(kInception, {devices / 2, 2, 1.32, 64, {}});
  EXPECT_TRUE(decision.ok()) << decision.status();
  return *decision;
}

TEST(TimeToAccuracy, GoldenTableOfInception) {
  struct Row {
    int devices;
    double data, hybrid;
  };
  for (const Row& row : {Row{16, 16, 10.56}, Row{32, 32, 21.12}, Row{64, 64 * 4.0 / 7, 42.24}}) {
    EXPECT_DOUBLE_EQ(OnDevices(row.devices).data, row.data);
    EXPECT_DOUBLE_EQ(OnDevices(row.devices).hybrid, row.hybrid);
    EXPECT_EQ(OnDevices(row.devices).hybrid_wins(1.32), row.hybrid > row.data) << row.devices;
  }
  EXPECT_NEAR(OnDevices(64).data, 36.57, 0.005);
}

// 1.32 / 2 E_2N / E_N: arithmetic alone.
TEST(TimeToAccuracy, GainOfTheHybrid) {
  const auto gain = [](int devices) { return OnDevices(devices).hybrid / OnDevices(devices).data; };
  EXPECT_NEAR(gain(64), 1.155, 0.0005);
  EXPECT_NEAR(gain(128), 1.131, 0.0005);
  EXPECT_NEAR(gain(256), 1.265, 0.0005);
}

TEST(TimeToAccuracy, BreakEven) {
  EXPECT_NEAR(BreakEvenEpochs(2, 1.32, {}), 1.5152, 0.00005);
  EXPECT_NEAR(BreakEvenEpochs(2, 1.15, {}), 1.7391, 0.00005);
  EXPECT_NEAR(BreakEvenEpochs(2, 1.22, {}), 1.6393, 0.00005);
  EXPECT_DOUBLE_EQ(BreakEvenEpochs(2, 1.25, {0.8, 0.6}), 1.2) << "replicas that scale badly";
}

TEST(TimeToAccuracy, TheDecisionIsTheComparison) {
  for (double speedup : {1.0, 1.1, 1.5, 1.9}) {
    for (int replicas : {1, 4, 32, 128}) {
      const TradeOff trade{replicas, 2, speedup, 64, {0.9, 0.7}};
      const absl::StatusOr<Decision> decision = Decide(kInception, trade);
      ASSERT_TRUE(decision.ok()) << decision.status();
      EXPECT_EQ(decision->hybrid > decision->data, decision->hybrid_wins(speedup)) << speedup << " " << replicas;
    }
  }
}

TEST(TimeToAccuracy, TippingPoints) {
  EXPECT_EQ(TippingPoint(kInception, 2, 1.32, 64, 256)->value(), 64);
  EXPECT_FALSE(TippingPoint(kInception, 2, 1.01, 64, 256)->has_value());
  EXPECT_EQ(TippingPoint(kInception, 2, 2.01, 64, 256)->value(), 2) << "better than linear";
  EXPECT_FALSE(TippingPoint(kInception, 2, 1.32, 64, 32)->has_value()) << "so few devices do not tip";
  EXPECT_FALSE(TippingPoint(kInception, 2, 1.32, 64, 512).ok()) << "the curve does not reach so far";
}

// The first doubling needs many epochs, and the next ones few: with most devices replicas are better again.
TEST(TimeToAccuracy, WinsOnFewDevicesAreNoTippingPoint) {
  const EpochCurve curve{"bend", {{64, 4}, {128, 10}, {256, 10.5}, {512, 11}}};
  EXPECT_EQ(TippingPoint(curve, 2, 1.5, 64, 2)->value(), 2);
  EXPECT_FALSE(TippingPoint(curve, 2, 1.5, 64, 8)->has_value());
}

TEST(EpochCurves, BetweenPointsAlongTheLine) {
  EXPECT_DOUBLE_EQ(*EpochsAt(kInception, 3072), 5.5);
  EXPECT_DOUBLE_EQ(*EpochsAt(kInception, 16384), 23);
}

TEST(EpochCurves, WhatTheyDoNotCoverIsRefused) {
  for (int64_t batch : {32, 16385}) {
    const absl::Status status = EpochsAt(kInception, batch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("only from 64 to 16384"));
  }
  EXPECT_FALSE(Decide(kInception, {256, 2, 1.32, 64, {}}).ok());
}

TEST(EpochCurves, ThatDoNotRiseAreRefused) {
  const auto refusal = [](std::vector<EpochPoint> points) {
    return std::string(CheckCurve({"c", std::move(points)}).message());
  };
  EXPECT_THAT(refusal({}), HasSubstr("no points"));
  EXPECT_THAT(refusal({{64, 4}, {64, 5}}), HasSubstr("batches must rise"));
  EXPECT_THAT(refusal({{64, 4}, {128, 3}}), HasSubstr("less than the 4 of batch 64; they may not fall"));
  EXPECT_THAT(refusal({{64, 0}}), HasSubstr("greater than 0"));
  EXPECT_EQ(refusal({{64, 4}, {128, 4}}), "");
}

TEST(EpochCurves, APointIsAddedAtItsPlace) {
  EpochCurve curve{"c", {{64, 4}}};
  ASSERT_TRUE(AddPoint({256, 8}, curve).ok());
  ASSERT_TRUE(AddPoint({128, 6}, curve).ok());
  EXPECT_DOUBLE_EQ(*EpochsAt(curve, 96), 5);
  EXPECT_DOUBLE_EQ(*EpochsAt(curve, 192), 7);
  EXPECT_THAT(std::string(AddPoint({128, 6}, curve).message()), HasSubstr("a point for a batch of 128 already"));
  EXPECT_THAT(std::string(AddPoint({160, 9}, curve).message()), HasSubstr("may not fall"));
  EXPECT_EQ(curve.points.size(), 3u) << "what is refused changes nothing";
}

TEST(EpochCurves, TellStepsWhereTheyKnowTheSamples) {
  EpochCurve curve{"c", {{64, 4}, {128, 6}}, "", 1000};
  EXPECT_DOUBLE_EQ(StepsAt(curve, 96)->steps(), 5 * 10) << "10 whole batches";
  EXPECT_THAT(std::string(StepsAt(curve, 256).status().message()), HasSubstr("only from 64 to 128"));
  curve.samples = 100;
  EXPECT_THAT(std::string(StepsAt(curve, 128).status().message()), HasSubstr("less than a batch of 128"));
  curve.samples = 0;
  EXPECT_THAT(std::string(StepsAt(curve, 64).status().message()), HasSubstr("does not say how many samples"));
}

}  // namespace
}  // namespace partita
