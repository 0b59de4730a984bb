#include "tools/commands/plan/plan_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "graph/make_program.h"
#include "partitioner/explain/memory_course.h"
#include "runtime/telemetry/progress.h"
#include "tools/commands/output/plan_parts.h"
#include "tools/commands/plan/numbers.h"
#include "tools/program/html/escaped_html.h"
#include "tools/program/html/html_page.h"

namespace partita {
namespace {

constexpr double kLeft = 150, kWidth = 900, kRow = 16, kMemoryHeight = 160, kTimeAxis = 22;
constexpr size_t kMostRanks = 8;
constexpr double kNarrow = 0.5;  // pixels, below which neighbours of a kind are drawn as one

constexpr char kWaiting[] = "waiting";

// Okabe and Ito's colours, which also readers without green or red receptors can tell apart; waiting is a pale form of
// the collectives' colour.
const char* ColourOf(const std::string& kind) {
  static const std::map<std::string, const char*> colours = {
      {"forward", "#56b4e9"}, {"backward", "#0072b2"}, {"update", "#009e73"}, {kWaiting, "#f3cdb5"}};
  const auto found = colours.find(kind);
  return found == colours.end() ? "#d55e00" : found->second;
}

// Marks of round numbers of microseconds below a picture of the step, from 4 to 10 of them.
std::string TimeAxis(int64_t step_ns, double y) {
  const double step_us = static_cast<double>(std::max<int64_t>(step_ns, 1)) / 1e3;
  double between = std::pow(10, std::floor(std::log10(step_us)));
  if (step_us < 2 * between) {
    between /= 5;
  } else if (step_us < 4 * between) {
    between /= 2;
  }
  std::string svg = fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">time, us</text>\n", kLeft - 8, y + 17);
  for (int mark = 0; mark * between <= step_us; ++mark) {
    svg += fmt::format(
        "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#999\"/>"
        "<text x=\"{0:.2f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:.12g}</text>\n",
        kLeft + kWidth * mark * between / step_us, y, y + 5, y + 17, mark * between);
  }
  return svg;
}

// A part of a row: one launch, or several of a kind that are too narrow to be told apart.
struct Bar {
  std::string kind, name;
  int launches = 1;
  TimeRange range;
};

class Row {
 public:
  explicit Row(int64_t step_ns) : scale_(kWidth / static_cast<double>(std::max<int64_t>(step_ns, 1))) {}

  void Add(const std::string& kind, const Launch& launch, const TimeRange& range) {
    if (range.end_ns == range.begin_ns) return;
    if (!bars_.empty() && bars_.back().kind == kind && Joins(bars_.back().range, range)) {
      ++bars_.back().launches;
      bars_.back().range.end_ns = range.end_ns;
    } else {
      bars_.push_back({kind, launch.name, 1, range});
    }
  }

  std::string Draw(const std::string& title, double y) const {
    std::string svg = fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                                  y + kRow - 4, EscapedHtml(title));
    for (const Bar& bar : bars_) {
      const std::string name = bar.launches == 1 ? bar.name : fmt::format("{} launches", bar.launches);
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{}: {}, {} us</title>"
          "</rect>\n",
          kLeft + scale_ * static_cast<double>(bar.range.begin_ns), y, Pixels(bar.range), kRow - 3, ColourOf(bar.kind),
          EscapedHtml(bar.kind), EscapedHtml(name), Microseconds(bar.range.end_ns - bar.range.begin_ns));
    }
    return svg;
  }

 private:
  double Pixels(const TimeRange& range) const { return scale_ * static_cast<double>(range.end_ns - range.begin_ns); }

  bool Joins(const TimeRange& before, const TimeRange& range) const {
    return Pixels({before.end_ns, range.begin_ns}) < kNarrow && (Pixels(before) < kNarrow || Pixels(range) < kNarrow);
  }

  double scale_;  // pixels for a nanosecond
  std::vector<Bar> bars_;
};

// What one stream of a rank does; of collectives how long they wait for the last of their group.
Row StreamRow(const ExplainedPlan& explained, int timeline, int stream) {
  Row row(explained.explanation.time.step_ns);
  const Arrivals& arrivals = explained.explanation.arrivals;
  const std::vector<LaunchSpan>& spans = explained.plan.step.timelines[timeline].spans;
  for (int l = 0; l < static_cast<int>(spans.size()); ++l) {
    const Launch& launch = *spans[l].launch;
    if (launch.stream != stream) continue;
    TimeRange range = RangeOf(spans[l]);
    if (std::holds_alternative<CollectiveLaunch>(launch.work)) {
      const int64_t last = RangeOf(arrivals.span(arrivals.LastOf({timeline, l}))).begin_ns;
      row.Add(kWaiting, launch, {range.begin_ns, last});
      range.begin_ns = last;
    }
    row.Add(KindOfWork(launch), launch, range);
  }
  return row;
}

// The path above, and below it a row for each stream of each kind of rank.
std::string TimelinePicture(const ExplainedPlan& explained) {
  const PredictedPlan& plan = explained.plan;
  Row path(explained.explanation.time.step_ns);
  for (const PathStretch& stretch : explained.explanation.path) {
    path.Add(KindOfWork(*stretch.launch), *stretch.launch, stretch.range);
  }
  double y = 4;
  std::string rows = path.Draw("path", y);
  const int kinds = static_cast<int>(std::min(plan.step.timelines.size(), kMostRanks));
  for (int t = 0; t < kinds; ++t) {
    y += 6;
    for (int stream = 0; stream < plan.step.timelines[t].streams; ++stream) {
      const std::string title = fmt::format("rank {}, stream {}", plan.step.timelines[t].rank, stream);
      y += kRow;
      rows += StreamRow(explained, t, stream).Draw(title, y);
    }
  }
  y += kRow;
  rows += TimeAxis(explained.explanation.time.step_ns, y);
  return HtmlPicture(kLeft + kWidth + 30, y + kTimeAxis, rows);
}

std::string Legend() {
  std::string text;
  for (const char* kind : {"forward", "backward", "update", "collective", kWaiting}) {
    text += fmt::format("<span style=\"color:{}\">&#9632;</span> {} ", ColourOf(kind), kind);
  }
  return "<p>" + text + "</p>\n";
}

// The schedule that the first rank of a kind has.
const Schedule& ScheduleOf(const PredictedPlan& plan, const RankTimeline& timeline) {
  return plan.train.schedules[plan.train.of_rank[timeline.rank]];
}

// Of the rank with the largest arena.
std::string MemoryPicture(const ExplainedPlan& explained) {
  const PredictedPlan& plan = explained.plan;
  const RankTimeline& fullest = *std::ranges::max_element(
      plan.step.timelines, {}, [&](const RankTimeline& timeline) { return ScheduleOf(plan, timeline).memory.total; });
  const Schedule& schedule = ScheduleOf(plan, fullest);
  const auto step = static_cast<double>(std::max<int64_t>(explained.explanation.time.step_ns, 1));
  const auto arena = static_cast<double>(std::max<int64_t>(schedule.memory.total, 1));
  std::string points;
  double before = kMemoryHeight;
  for (const MemoryMoment& moment : MemoryCourse(schedule, fullest)) {
    const double x = kLeft + kWidth * static_cast<double>(moment.ns) / step;
    const double y = 4 + kMemoryHeight * (1 - static_cast<double>(moment.bytes) / arena);
    if (!points.empty()) points += fmt::format("{:.2f},{:.2f} ", x, before);
    points += fmt::format("{:.2f},{:.2f} ", x, y);
    before = y;
  }
  points += fmt::format("{:.2f},{:.2f}", kLeft + kWidth, before);
  const std::string total = FormatBytes(schedule.memory.total);
  const std::string shapes =
      fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"4\" y2=\"4\" stroke=\"#999\" stroke-dasharray=\"4 4\"/>\n"
          "<text x=\"{2}\" y=\"12\" text-anchor=\"end\">{3}</text>\n"
          "<text x=\"{2}\" y=\"{4}\" text-anchor=\"end\">0</text>\n"
          "<polyline points=\"{5}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"1.5\"/>\n",
          kLeft, kLeft + kWidth, kLeft - 8, total, kMemoryHeight + 4, points) +
      TimeAxis(explained.explanation.time.step_ns, kMemoryHeight + 4);
  return fmt::format("<h2>Memory of rank {}</h2>\n<p>Bytes in use; the dashed line is the arena, {}.</p>\n",
                     fullest.rank, total) +
         HtmlPicture(kLeft + kWidth + 30, kMemoryHeight + 4 + kTimeAxis, shapes);
}

std::string GroupsTable(const Program& program) {
  if (program.groups.empty()) return "";
  const std::vector<MoveBytes> bytes = PredictBytes(program, program.graph(kTrainEntry));
  std::vector<std::vector<std::string>> rows = {{"group", "payload", "wire"}};
  for (size_t g = 0; g < program.groups.size(); ++g) {
    rows.push_back(
        {ToString(program.groups[g], program.meshes), FormatBytes(bytes[g].payload), FormatBytes(bytes[g].wire)});
  }
  return "<h2>Groups</h2>\n<pre>" + EscapedHtml(FormatTable(rows, 1)) + "</pre>\n";
}

}  // namespace

std::string PlanToHtml(const ExplainedPlan& explained) {
  const size_t kinds = explained.plan.step.timelines.size();
  const std::string drawn = kinds > kMostRanks ? fmt::format("; {} of {} kinds of ranks", kMostRanks, kinds) : "";
  const std::string title =
      fmt::format("{} on {}: {}", explained.model, explained.cluster, ToString(explained.plan.program.meshes));
  const std::string body = fmt::format("<h1>{}</h1>\n<p>A step takes {} us{}.</p>\n", EscapedHtml(title),
                                       Microseconds(explained.explanation.time.step_ns), drawn) +
                           Legend() + TimelinePicture(explained) + MemoryPicture(explained) +
                           GroupsTable(explained.plan.program) + "<h2>Why</h2>\n<pre>" +
                           EscapedHtml(ExplanationToText(explained, /*full=*/false)) + "</pre>\n";
  return HtmlPage(title, "body { max-width: 72em; }\n", body);
}

}  // namespace partita
