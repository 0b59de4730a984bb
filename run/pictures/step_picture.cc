#include "run/pictures/step_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "partitioner/explain/memory_course.h"
#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/html/ticks.h"
#include "runtime/telemetry/progress.h"

namespace partita {
namespace {

constexpr double kLeft = 130, kWidth = 900, kRow = 16, kGap = 6, kTimeAxis = 22;
constexpr double kNarrow = 0.5;  // pixels, below which neighbours of a kind are drawn as one

constexpr const char* kKinds[] = {"forward", "backward", "update", "collective", kWaiting};

// The class of the style sheet: collectives of all kinds have one.
std::string StyleOf(const std::string& kind) {
  const bool is_known = std::ranges::find(kKinds, kind) != std::end(kKinds);
  return is_known ? kind : "collective";
}

std::string Microseconds(int64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1e3); }

struct TimeUnit {
  const char* name;
  double ns;
};

TimeUnit UnitOf(int64_t step_ns) { return step_ns < 10'000'000 ? TimeUnit{"us", 1e3} : TimeUnit{"ms", 1e6}; }

std::string TimeAxis(int64_t step_ns, double y) {
  const TimeUnit unit = UnitOf(step_ns);
  const double step = static_cast<double>(step_ns) / unit.ns;
  std::string svg =
      fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">time, {}</text>\n", kLeft - 8, y + 17, unit.name);
  for (const double mark : Ticks(0, step, 10)) {
    if (mark > step) continue;
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{0:.2f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
        kLeft + kWidth * mark / step, y, y + 5, y + 17, TickText(mark));
  }
  return svg;
}

}  // namespace

StepRow::StepRow(std::string title, int64_t step_ns)
    : title_(std::move(title)), scale_(kWidth / static_cast<double>(std::max<int64_t>(step_ns, 1))) {}

void StepRow::Add(const std::string& kind, const std::string& name, const TimeRange& range) {
  if (range.end_ns <= range.begin_ns) return;
  if (!bars_.empty() && bars_.back().kind == kind && Joins(bars_.back().range, range)) {
    ++bars_.back().launches;
    bars_.back().range.end_ns = range.end_ns;
  } else {
    bars_.push_back({kind, name, 1, range});
  }
}

std::string StepRow::Draw(double y) const {
  std::string svg = fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, y + kRow - 4,
                                EscapedHtml(title_));
  for (const Bar& bar : bars_) {
    const std::string name = bar.launches == 1 ? bar.name : fmt::format("{} launches", bar.launches);
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"><title>{}: {}, {} us</title>"
        "</rect>\n",
        StyleOf(bar.kind), kLeft + scale_ * static_cast<double>(bar.range.begin_ns), y, Pixels(bar.range), kRow - 3,
        EscapedHtml(bar.kind), EscapedHtml(name), Microseconds(bar.range.end_ns - bar.range.begin_ns));
  }
  return svg;
}

double StepRow::Pixels(const TimeRange& range) const {
  return scale_ * static_cast<double>(range.end_ns - range.begin_ns);
}

bool StepRow::Joins(const TimeRange& before, const TimeRange& range) const {
  return Pixels({before.end_ns, range.begin_ns}) < kNarrow && (Pixels(before) < kNarrow || Pixels(range) < kNarrow);
}

std::string StepPicture(const std::vector<std::vector<StepRow>>& groups, int64_t step_ns) {
  double y = 4;
  std::string rows;
  for (const std::vector<StepRow>& group : groups) {
    for (const StepRow& row : group) {
      rows += row.Draw(y);
      y += kRow;
    }
    y += kGap;
  }
  rows += TimeAxis(std::max<int64_t>(step_ns, 1), y);
  return HtmlPicture("What streams of ranks do over the time of a step", kLeft + kWidth + 30, y + kTimeAxis, rows);
}

std::string StepLegend(bool waits) {
  std::string text;
  for (const std::string kind : kKinds) {
    if (kind == kWaiting && !waits) continue;
    text += fmt::format(
        "<svg viewBox=\"0 0 22 10\" aria-hidden=\"true\"><rect class=\"{0}\" width=\"12\" height=\"10\"/></svg>{0} ",
        kind);
  }
  return "<p class=\"legend\">" + text + "</p>\n";
}

std::string MemoryPicture(const Schedule& schedule, const RankTimeline& timeline, int64_t step_ns,
                          std::optional<int64_t> limit) {
  const TimeUnit unit = UnitOf(step_ns);
  constexpr double kMiB = 1 << 20;
  CurveChart chart{
      "", fmt::format("time, {}", unit.name), "bytes in use, MiB", {{"in use", {}}}, {}, /*is_linear=*/true};
  std::vector<ChartPoint>& points = chart.curves[0].points;
  for (const MemoryMoment& moment : MemoryCourse(schedule, timeline)) {
    const double x = static_cast<double>(moment.ns) / unit.ns;
    if (!points.empty()) points.push_back({x, points.back().y});
    points.push_back({x, static_cast<double>(moment.bytes) / kMiB});
  }
  points.push_back({static_cast<double>(step_ns) / unit.ns, points.back().y});
  const auto total = static_cast<double>(schedule.memory.total);
  chart.title = fmt::format("Memory of rank {}: an arena of {}", timeline.rank, FormatBytes(schedule.memory.total));
  const bool draws_limit = limit && *limit / kLargestLimit <= schedule.memory.total;
  chart.limit =
      draws_limit ? ChartLimit{"limit", static_cast<double>(*limit) / kMiB} : ChartLimit{"arena", total / kMiB};
  return DrawCurves(chart);
}

}  // namespace partita
