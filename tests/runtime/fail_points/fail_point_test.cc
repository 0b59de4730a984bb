// Points are armed by name for one process of a job, and do what they are told at the pass that was said.
#include "runtime/fail_points/fail_point.h"

#include <gtest/gtest.h>

#include <set>

namespace partita {
namespace {

bool Says(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

TEST(FailPoints, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  std::set<FailPoint> points;
  for (const FailPointName& point : FailPoints()) {
    EXPECT_TRUE(names.insert(point.name).second) << point.name;
    EXPECT_TRUE(points.insert(point.point).second) << point.name;
    EXPECT_GT(std::string(point.where).size(), 10u);
  }
  EXPECT_EQ(points.size(), static_cast<size_t>(FailPoint::kJobLeaving) + 1);
}

TEST(FailPoints, RefuseWhatTheyDoNotKnow) {
  const std::pair<const char*, const char*> cases[] = {
      {"nowhere=kill", "there is no fail point 'nowhere'"},
      {"training.step", "found '', allowed are kill, error, wait"},
      {"training.step=explode", "found 'explode', allowed are kill, error, wait"},
      {"training.step=kill,colour=3", "found 'colour', allowed are rank, start, pass"},
      {"training.step=kill,pass=0", "pass: found '0', a number from 1 is needed"},
      {"training.step=kill,rank=one", "rank: found 'one'"},
      {"training.step=error;", "there is no fail point ''"},
  };
  for (const auto& [text, says] : cases) {
    const absl::Status status = ArmFailPoints(text, {});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(Says(status, says)) << status;
  }
  EXPECT_TRUE(Pass(FailPoint::kTrainingStep).ok());
}

TEST(FailPoints, FailAtTheRightPassOfTheRightProcess) {
  ASSERT_TRUE(ArmFailPoints("", {.rank = 1}).ok());
  ASSERT_TRUE(
      ArmFailPoints("job.joined=error,rank=0; checkpoint.begun=error,start=1; training.step=error,rank=1, pass=3",
                    {.rank = 1, .start = 0})
          .ok());
  EXPECT_TRUE(Pass(FailPoint::kJobJoined).ok());
  EXPECT_TRUE(Pass(FailPoint::kCheckpointBegun).ok());
  for (int pass = 1; pass <= 5; ++pass) {
    const absl::Status status = Pass(FailPoint::kTrainingStep);
    EXPECT_EQ(status.ok(), pass != 3);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_TRUE(Says(status, "fail point 'training.step'"));
    }
  }
}

TEST(FailPointsDeathTest, Kill) {
  EXPECT_EXIT(
      {
        ArmFailPoints("job.leaving=kill", {}).IgnoreError();
        Pass(FailPoint::kJobLeaving).IgnoreError();
      },
      testing::KilledBySignal(SIGKILL), "");
}

}  // namespace
}  // namespace partita
