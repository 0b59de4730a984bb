// Sweeps over steps that are given, reckoned by hand.
#include "tools/commands/sweep/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/status.h"

namespace partita {
namespace {

using testing::HasSubstr;
using testing::Not;

// 100 samples a replica. One device takes 1 s, each doubling of replicas 0.1 s more, a replica of two 0.6 of the time.
absl::StatusOr<PredictedStep> Predicted(const SweepWay& way, int64_t batch) {
  EXPECT_EQ(batch, 100 * way.replicas());
  double seconds = 1;
  for (int replicas = way.replicas(); replicas > 1; replicas /= 2) seconds += 0.1;
  if (way.split == 4) return InvalidArgument("no layer falls in 4 parts");
  return PredictedStep{way.split == 2 ? 0.6 * seconds : seconds, 0.1, {}};
}

SweepOptions Options() {
  SweepOptions options;
  options.most_devices = 8;
  options.largest_split = 4;
  options.replica_batch = 100;
  return options;
}

const SweepPoint& At(const Sweep& sweep, int devices, int split) {
  for (const SweepPoint& point : sweep.points) {
    if (point.way.devices == devices && point.way.split == split) return point;
  }
  ADD_FAILURE() << devices << " devices, " << split << " a replica";
  return sweep.points.front();
}

TEST(Sweep, TellsSpeedUpsOverOneDevice) {
  const absl::StatusOr<Sweep> sweep = MakeSweep(Options(), Predicted);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->points.size(), 1 + 2 + 3 + 3);
  EXPECT_DOUBLE_EQ(At(*sweep, 1, 1).speedup, 1);
  EXPECT_DOUBLE_EQ(At(*sweep, 8, 1).speedup, 8 / 1.3);
  EXPECT_DOUBLE_EQ(At(*sweep, 8, 2).speedup, 4 / (0.6 * 1.2));
  EXPECT_EQ(At(*sweep, 8, 4).refused, "no layer falls in 4 parts");
  EXPECT_FALSE(sweep->tipping.has_value()) << "more replicas are always faster here";
  EXPECT_THAT(FormatSweep(*sweep, {"toy", "here"}),
              HasSubstr("\nbest: 8 devices, 1 a replica: 6.15 times one device\n"));
}

// 200 samples need as many epochs as 100, 400 twice and 800 four times as many: from 4 devices on doubling the batch
// gains nothing, and replicas of two are 1.67 times as fast.
TEST(Sweep, TipsWhereLargerBatchesNeedMoreEpochs) {
  SweepOptions options = Options();
  options.curve = EpochCurve{"toy", {{100, 10}, {200, 10}, {400, 20}, {800, 40}}};
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, Predicted);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_DOUBLE_EQ(*At(*sweep, 4, 1).sooner, 4 / 1.2 * 10 / 20);
  EXPECT_DOUBLE_EQ(*At(*sweep, 4, 2).sooner, 2 / (0.6 * 1.1));
  ASSERT_TRUE(sweep->tipping.has_value());
  EXPECT_EQ(*sweep->tipping, 4);
  EXPECT_THAT(FormatSweep(*sweep, {"toy", "here"}), HasSubstr("from 4 devices on, replicas of several devices reach"));
}

// 4 of 1 to 8 devices lie at two thirds of a picture that begins at 60 and is 640 wide.
TEST(Sweep, MarksTheTippingPointInThePicture) {
  SweepOptions options = Options();
  options.curve = EpochCurve{"toy", {{100, 10}, {200, 10}, {400, 20}, {800, 40}}};
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, Predicted);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const std::string page = SweepToHtml(*sweep, {"toy", "here"});
  const std::string picture = page.substr(page.find("<svg"), page.find("</svg>") - page.find("<svg"));
  EXPECT_THAT(picture, HasSubstr("<line x1=\"506.7\" x2=\"506.7\" y1=\"20\" y2=\"420\""));
  EXPECT_THAT(picture, HasSubstr(">tipping point</text>"));
  const absl::StatusOr<Sweep> without = MakeSweep(Options(), Predicted);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_THAT(SweepToHtml(*without, {"toy", "here"}), Not(HasSubstr("tipping point")));
}

// Nothing is read off a curve beyond its end.
TEST(Sweep, TellsNoTimesWhereTheCurveEnds) {
  SweepOptions options = Options();
  options.curve = EpochCurve{"short", {{100, 10}, {400, 10}}};
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, Predicted);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_TRUE(At(*sweep, 4, 1).sooner.has_value());
  EXPECT_FALSE(At(*sweep, 8, 1).sooner.has_value());
  EXPECT_TRUE(At(*sweep, 8, 2).sooner.has_value());
  EXPECT_EQ(sweep->tipping, std::nullopt) << "what 8 replicas of one device are worth is unknown";
  const std::string text = FormatSweep(*sweep, {"toy", "here"});
  EXPECT_THAT(text, HasSubstr("short does not cover batches of 800: what they are worth is unknown\n"
                              "so it is from how many devices on replicas of several devices are better\n"));
  EXPECT_THAT(text, Not(HasSubstr("nowhere")));
  EXPECT_THAT(SweepToHtml(*sweep, {"toy", "here"}), HasSubstr("does not cover batches of 800"));
  EXPECT_THAT(SweepToHtml(*sweep, {"toy", "here"}), Not(HasSubstr("tipping point")));
  const nlohmann::json json = nlohmann::json::parse(SweepToJson(*sweep, {"toy", "here"}));
  EXPECT_EQ(json["uncovered_batches"], nlohmann::json({800}));
  EXPECT_FALSE(json.contains("tipping_devices"));
  options.curve->points.front().batch = 200;
  EXPECT_EQ(MakeSweep(options, Predicted).status().code(), absl::StatusCode::kInvalidArgument);
}

// Replicas of one device that do not fit leave nothing to compare with, so larger ones are the better ones.
TEST(Sweep, TipsWhereReplicasOfOneDeviceDoNotFit) {
  SweepOptions options = Options();
  options.curve = EpochCurve{"short", {{100, 10}, {400, 10}}};
  const auto full = [](const SweepWay& way, int64_t batch) -> absl::StatusOr<PredictedStep> {
    if (way.devices == 8 && way.split == 1) return ResourceExhausted("does not fit");
    return Predicted(way, batch);
  };
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, full);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->tipping, 8);
  EXPECT_THAT(sweep->UncoveredBatches(), testing::IsEmpty());
}

TEST(Sweep, SaysWhereOneDeviceIsTheBest) {
  const auto slower = [](const SweepWay& way, int64_t) -> absl::StatusOr<PredictedStep> {
    return PredictedStep{way.devices == 1 ? 1.0 : 9.0 - way.split, 0, {}};
  };
  SweepOptions options = Options();
  options.most_devices = 4;
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, slower);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->tipping, std::nullopt);
  EXPECT_THAT(FormatSweep(*sweep, {"toy", "here"}),
              HasSubstr("\nbest: 1 device, 1 a replica: 1.00 times one device\n"));
}

TEST(Sweep, EndsWhereThereIsNoPlan) {
  const auto none = [](const SweepWay&, int64_t) -> absl::StatusOr<PredictedStep> {
    return ResourceExhausted("does not fit");
  };
  EXPECT_EQ(MakeSweep(Options(), none).status().code(), absl::StatusCode::kResourceExhausted);
}

// A graph that no device holds alone is what larger replicas are for: two devices are what others are compared with.
TEST(Sweep, ComparesWithTheFewestDevicesThatHoldTheGraph) {
  const auto large = [](const SweepWay& way, int64_t batch) -> absl::StatusOr<PredictedStep> {
    if (way.split == 1) return ResourceExhausted("does not fit");
    return Predicted(way, batch);
  };
  SweepOptions options = Options();
  options.curve = EpochCurve{"toy", {{100, 10}, {400, 20}}};
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, large);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(At(*sweep, 1, 1).refused, "does not fit");
  EXPECT_EQ(sweep->Base().way.devices, 2);
  EXPECT_DOUBLE_EQ(At(*sweep, 2, 2).speedup, 1);
  EXPECT_DOUBLE_EQ(At(*sweep, 8, 2).speedup, 4 / 1.2);
  EXPECT_DOUBLE_EQ(*At(*sweep, 8, 2).sooner, 4 / 1.2 * 10 / 20);
  EXPECT_EQ(sweep->tipping, 2);
  EXPECT_THAT(FormatSweep(*sweep, {"toy", "here"}), HasSubstr(" a replica: 1.67 times 2 devices\n"));
  const nlohmann::json json = nlohmann::json::parse(SweepToJson(*sweep, {"toy", "here"}));
  EXPECT_EQ(json["base"]["devices"], 2);
  const std::string page = SweepToHtml(*sweep, {"toy", "here"});
  EXPECT_THAT(page, HasSubstr(" over 2 devices, by devices"));
  // From 2 of 1 to 8 devices, a third of the picture's width.
  EXPECT_THAT(page, HasSubstr("<line x1=\"293.3\""));
}

TEST(Sweep, IsPrintedForProgramsAndPages) {
  const absl::StatusOr<Sweep> sweep = MakeSweep(Options(), Predicted);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const nlohmann::json json = nlohmann::json::parse(SweepToJson(*sweep, {"a<b", "here"}));
  ASSERT_EQ(json["points"].size(), sweep->points.size());
  EXPECT_EQ(json["points"][0]["speedup"], 1.0);
  EXPECT_EQ(json["best"]["devices"], 8);
  EXPECT_FALSE(json["points"][5].contains("speedup")) << "refused: " << json["points"][5];
  const std::string page = SweepToHtml(*sweep, {"a<b", "here"});
  EXPECT_THAT(page, HasSubstr("<h1>a&lt;b on here</h1>"));
  EXPECT_THAT(page, HasSubstr("2 devices a replica"));
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

// The flags of each point for programs; in the text those of replicas of several devices, once for all that share them.
TEST(Sweep, TellsHowAReplicaIsSplit) {
  const auto predict = [](const SweepWay& way, int64_t) -> absl::StatusOr<PredictedStep> {
    const char* const dense = way.devices < 8 ? "samples" : "channels";
    return PredictedStep{1, 0.1, fmt::format("--dp={} --mp={} --dense={}", way.replicas(), way.split, dense)};
  };
  SweepOptions options = Options();
  options.largest_split = 2;
  const absl::StatusOr<Sweep> sweep = MakeSweep(options, predict);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_THAT(FormatSweep(*sweep, {"toy", "here"}), HasSubstr("\na replica on 2, 4 devices: --mp=2 --dense=samples\n"
                                                              "a replica on 8 devices: --mp=2 --dense=channels\nbest"));
  const auto json = nlohmann::json::parse(SweepToJson(*sweep, {"toy", "here"}));
  EXPECT_EQ(json["points"][2]["flags"], "--dp=1 --mp=2 --dense=samples");
}

}  // namespace
}  // namespace partita
