#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/html/ticks.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Ticks, AreRoundAndCoverTheRange) {
  EXPECT_THAT(Ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(Ticks(3, 9, 5), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(Ticks(-1.5, 1, 5), ElementsAre(-1.5, -1, -0.5, 0, 0.5, 1));
}

TEST(LogarithmicTicks, AreDecadesOrWithinThem) {
  EXPECT_THAT(LogarithmicTicks(2.1, 3), ElementsAre(2, 5));
  EXPECT_THAT(LogarithmicTicks(0.9, 3), ElementsAre(testing::DoubleEq(0.5), 1, 2, 5));
  EXPECT_THAT(LogarithmicTicks(1, 10000), ElementsAre(1, 10, 100, 1000, 10000));
  EXPECT_THAT(LogarithmicTicks(10, 10), ElementsAre(10, 20));
  EXPECT_LE(LogarithmicTicks(1e-30, 1e30).size(), 8);
}

TEST(DrawCurves, LeavesGapsWhereThereAreNoNumbers) {
  const double none = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::string html = DrawCurves({"t", "x", "y", {{"a", {{0, 1}, {1, 2}, {2, none}, {3, infinite}, {4, 3}}}}});
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf\"")));
  size_t stretches = 0;
  for (size_t at = html.find("<polyline"); at != std::string::npos; at = html.find("<polyline", at + 1)) ++stretches;
  EXPECT_EQ(stretches, 4u);  // two in each scale
  EXPECT_EQ(DrawCurves({"t", "x", "y", {{"a", {{0, none}}}}}), "");
}

TEST(DrawCurves, HasNoLogarithmOfWhatIsNotPositive) {
  EXPECT_THAT(DrawCurves({"t", "x", "y", {{"a", {{0, 0}, {1, -1}}}}}), Not(HasSubstr("class=\"log\"")));
  const std::string html = DrawCurves({"t", "x", "y", {{"a", {{0, 0}, {1, 10}}}}});
  EXPECT_THAT(html, HasSubstr("class=\"log\""));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(DrawBars, ShortensLongLabels) {
  const std::string label(100, 'x');
  const std::string html = DrawBars({"t", "us", {{label, "3 us", {{3, "forward"}}}}, {}});
  EXPECT_THAT(html, HasSubstr("x...: 3 us"));
  EXPECT_THAT(html, HasSubstr("<title>" + label + "</title>"));
  EXPECT_EQ(DrawBars({"t", "us", {}, {}}), "");
}

TEST(HtmlTable, NamesRowsAndColumnsAndEscapes) {
  const std::string html = HtmlTable("a & b", {{"name", "n"}, {"<x>", "1"}});
  EXPECT_THAT(html, HasSubstr("<caption>a &amp; b</caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">n</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\" class=\"text\">&lt;x&gt;</th><td>1</td>"));
}

TEST(EscapedHtml, LeavesNothingThatABrowserReads) {
  EXPECT_EQ(EscapedHtml("<a href=\"'&\n"), "&lt;a href=&quot;&#39;&amp;\n");
  EXPECT_EQ(EscapedHtml(std::string("\0\x1b", 2)), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace partita
