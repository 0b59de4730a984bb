#include "runtime/telemetry/progress_curves.h"

#include <gtest/gtest.h>

#include <string>

namespace partita {
namespace {

Progress At(int64_t step, bool has_metric = true) {
  Progress progress;
  progress.step = step;
  progress.loss = 1.0 / static_cast<double>(step);
  if (has_metric) progress.metrics = {{"accuracy", 0.5}, {"other", 7}};
  return progress;
}

TEST(ProgressCurves, AreOfLossAndFirstMetric) {
  ProgressCurves curves;
  EXPECT_TRUE(curves.Lines(100, PlotDots::kAscii).empty());
  for (int64_t step = 1; step <= 4; ++step) curves.Add(At(step));
  const std::vector<std::string> lines = curves.Lines(100, PlotDots::kAscii);
  ASSERT_EQ(lines.size(), ProgressCurves::kLines);
  EXPECT_EQ(lines[0].find("loss 0.25"), 10u);
  EXPECT_EQ(lines[0].find("accuracy 0.5"), 49u + 2 + 10);
  EXPECT_EQ(lines[0].find("other"), std::string::npos);
  EXPECT_EQ(lines[1].substr(0, 10), "        1|");
  EXPECT_EQ(lines[8].substr(0, 10), "     0.25|");
  EXPECT_EQ(lines[9].find("step 1"), 10u);
}

TEST(ProgressCurves, FitTheirTerminal) {
  ProgressCurves curves;
  for (int64_t step = 1; step <= 4; ++step) curves.Add(At(step));
  for (size_t columns = 1; columns < 120; ++columns) {
    for (const std::string& line : curves.Lines(columns, PlotDots::kAscii)) {
      EXPECT_LE(line.size(), columns);
      EXPECT_EQ(line.find_first_of("\r\n\x1b"), std::string::npos);
    }
  }
  EXPECT_TRUE(curves.Lines(35, PlotDots::kAscii).empty());
  EXPECT_EQ(curves.Lines(60, PlotDots::kAscii)[0].find("accuracy"), std::string::npos);
}

TEST(ProgressCurves, WithoutAMetricTheLossHasAllColumns) {
  ProgressCurves curves;
  for (int64_t step = 1; step <= 2; ++step) curves.Add(At(step, /*has_metric=*/false));
  EXPECT_EQ(curves.Lines(100, PlotDots::kAscii)[0].size(), 100u);
}

// The first point is then a mean of many.
TEST(ProgressCurves, ThinALongRun) {
  ProgressCurves curves;
  for (int64_t step = 1; step <= 100000; ++step) curves.Add(At(step));
  const std::string last = curves.Lines(100, PlotDots::kAscii)[9];
  EXPECT_EQ(last.find("step 1 "), std::string::npos);
  EXPECT_NE(last.find(" 100000"), std::string::npos);
}

}  // namespace
}  // namespace partita
