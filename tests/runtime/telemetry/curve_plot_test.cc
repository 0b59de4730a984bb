#include "runtime/telemetry/curve_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace partita {
namespace {

using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Rises by a dot a point, then stays.
CurvePlot Example() {
  CurvePlot plot{"a", "s", {}};
  for (int x = 0; x < 12; ++x) plot.points.push_back({static_cast<double>(x), std::fmin(x, 7)});
  return plot;
}

TEST(DrawPlot, SetsTheDotsOfEachPoint) {
  EXPECT_THAT(DrawPlot(Example(), 16, 2, PlotDots::kBraille),
              ElementsAre("          a 7   ",  //
                          "        7|  ⡠⠊⠉⠉",  //
                          "        0|⡠⠊    ",  //
                          "          s 0 11"));
  EXPECT_THAT(DrawPlot(Example(), 16, 2, PlotDots::kAscii),
              ElementsAre("          a 7   ",  //
                          "        7|  ****",  //
                          "        0|**    ",  //
                          "          s 0 11"));
}

TEST(DrawPlot, JoinsPointsThatAreApart) {
  EXPECT_THAT(DrawPlot({"a", "s", {{0, 1}, {10, 3}}}, 14, 4, PlotDots::kAscii),
              ElementsAre("          a 3 ",  //
                          "        3|   *",  //
                          "         |  * ",  //
                          "         | *  ",  //
                          "        1|*   ",  //
                          "          s 10"));
}

TEST(DrawPlot, LeavesGapsWhereNothingIsFinite) {
  EXPECT_THAT(DrawPlot({"a", "s", {{0, 1}, {1, kNan}, {2, 1}}}, 16, 2, PlotDots::kBraille),
              ElementsAre("          a 1   ",  //
                          "        1|      ",  //
                          "        1|⠁    ⠈",  //
                          "          s 0  2"));
  EXPECT_THAT(DrawPlot({"a", "s", {{0, kNan}}}, 16, 1, PlotDots::kBraille),
              ElementsAre("          a nan ", "         |      ", "          s 0  0"));
  EXPECT_THAT(DrawPlot({"a", "s", {}}, 16, 1, PlotDots::kAscii),
              ElementsAre("          a     ", "         |      ", std::string(16, ' ')));
}

TEST(DrawPlot, HasItsWidth) {
  const CurvePlot plot{"a long name of a loss", "step", {{1e7, -1.234e-5}, {2e7, 1e300}, {3e7, -1e300}}};
  for (size_t columns = 24; columns < 100; ++columns) {
    for (const std::string& line : DrawPlot(plot, columns, 8, PlotDots::kAscii)) EXPECT_EQ(line.size(), columns);
  }
}

}  // namespace
}  // namespace partita
