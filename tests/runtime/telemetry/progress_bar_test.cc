#include "runtime/telemetry/progress_bar.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

Progress At(int64_t step) {
  Progress progress;
  progress.step = step;
  progress.loss = 2.30118;
  progress.samples_per_s = 812.4;
  return progress;
}

TEST(ProgressBar, IsOneLine) {
  EXPECT_EQ(FormatProgressBar(At(420), 1000, 12, 120),
            "[============>                  ]  42 %  step 420/1000  loss 2.301  812 samples/s  0:12 left");
  EXPECT_EQ(FormatProgressBar(At(0), 1000, -1, 120),
            "[>                              ]   0 %  step 0/1000  loss 2.301  812 samples/s");
  EXPECT_EQ(FormatProgressBar(At(1000), 1000, 0, 120).substr(0, 39), "[==============================>] 100 %");
}

TEST(ProgressBar, FitsItsTerminal) {
  for (size_t columns = 1; columns < 120; ++columns) {
    const std::string line = FormatProgressBar(At(999), 1000, 3700, columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_EQ(FormatProgressBar(At(420), 1000, 12, 80)[0], '[');
}

// Without a clearing of the whole, which would flicker, and back to the beginning of the bar.
TEST(ProgressBlock, IsDrawnOverTheOneBefore) {
  EXPECT_EQ(ProgressBlock("bar", {"a", "b"}, /*anew=*/false), "\rbar\x1b[K\r\na\x1b[K\r\nb\x1b[K\x1b[2A\r");
  EXPECT_EQ(ProgressBlock("bar", {"a"}, /*anew=*/true), "\r\x1b[Jbar\x1b[K\r\na\x1b[K\x1b[1A\r");
  EXPECT_EQ(ProgressBlock("bar", {}, /*anew=*/false), "\r\x1b[Jbar");
}

TEST(ProgressBar, TellsTimeAsPeopleDo) {
  EXPECT_EQ(FormatDuration(0.2), "0:00");
  EXPECT_EQ(FormatDuration(59.6), "1:00");
  EXPECT_EQ(FormatDuration(754), "12:34");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(90000), "25:00:00");
  EXPECT_EQ(FormatDuration(-5), "0:00");
}

}  // namespace
}  // namespace partita
