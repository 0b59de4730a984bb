#include "runtime/api/step_meter.h"

#include <algorithm>

#include "graph/timeline/step_times.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

// Medians of what the timelines say, of each rank by itself.
TEST(StepMeter, IsTheMedianOfTheTimelines) {
  const auto session = SmallSession("mlp", "2x1");
  StepMeter meter(*session);
  ASSERT_TRUE(meter.Job().ok());
  EXPECT_TRUE(meter.Job()->empty()) << "no step yet";
  std::vector<double> steps, communication, compute;
  for (int step = 0; step < 3; ++step) {
    StageTraining(*session, MakeBatch(1, step, DType::kF32));
    ASSERT_TRUE(session->Train().ok());
    meter.AddStep();
    const StepTimes times = TimesOf(session->Timeline(kTrainEntry, 1));
    steps.push_back(times.step);
    compute.push_back(times.compute);
    communication.push_back(times.communication);
  }
  const absl::StatusOr<std::vector<MeasuredStep>> ranks = meter.Job();
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  ASSERT_EQ(ranks->size(), 2u);
  const MeasuredStep& rank = (*ranks)[1];
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.steps, 3);
  for (std::vector<double>* const values : {&steps, &compute, &communication}) std::ranges::sort(*values);
  EXPECT_DOUBLE_EQ(rank.step, steps[1]);
  EXPECT_DOUBLE_EQ(rank.compute, compute[1]);
  EXPECT_DOUBLE_EQ(rank.communication, communication[1]);
  EXPECT_GT(rank.compute, 0);
  EXPECT_GT(rank.communication, 0);
}

}  // namespace
}  // namespace partita
