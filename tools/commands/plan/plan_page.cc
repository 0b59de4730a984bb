#include "tools/commands/plan/plan_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <variant>

#include "graph/make_program.h"
#include "partitioner/explain/memory_course.h"
#include "tools/commands/output/plan_parts.h"
#include "tools/commands/plan/numbers.h"
#include "tools/program/html/escaped_html.h"
#include "tools/program/html/html_page.h"

namespace partita {
namespace {

constexpr double kLeft = 150, kWidth = 900, kRow = 16, kMemoryHeight = 160;
constexpr size_t kMostRanks = 8;
constexpr double kNarrow = 0.5;  // pixels, below which neighbours of a kind are drawn as one

constexpr char kWaiting[] = "waiting";

const char* ColourOf(const std::string& kind) {
  static const std::map<std::string, const char*> colours = {
      {"forward", "#6a994e"}, {"backward", "#2a6f97"}, {"update", "#f4a261"}, {kWaiting, "#e9c9ca"}};
  const auto found = colours.find(kind);
  return found == colours.end() ? "#bc4749" : found->second;
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
  return fmt::format("<svg viewBox=\"0 0 {} {}\" width=\"100%\">\n{}</svg>\n", kLeft + kWidth + 10, y + kRow + 4, rows);
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
  return fmt::format(
      "<h2>Memory of rank {}</h2>\n<p>Bytes in use; the dashed line is the arena, {} bytes.</p>\n"
      "<svg viewBox=\"0 0 {} {}\" width=\"100%\">\n"
      "<line x1=\"{}\" x2=\"{}\" y1=\"4\" y2=\"4\" stroke=\"#999\" stroke-dasharray=\"4 4\"/>\n"
      "<text x=\"{}\" y=\"12\" text-anchor=\"end\">{}</text>\n"
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#2a6f97\" stroke-width=\"1.5\"/>\n</svg>\n",
      fullest.rank, schedule.memory.total, kLeft + kWidth + 10, kMemoryHeight + 10, kLeft, kLeft + kWidth, kLeft - 8,
      schedule.memory.total, points);
}

std::string GroupsTable(const Program& program) {
  if (program.groups.empty()) return "";
  const std::vector<MoveBytes> bytes = PredictBytes(program, program.graph(kTrainEntry));
  std::vector<std::vector<std::string>> rows = {{"group", "payload bytes", "wire bytes"}};
  for (size_t g = 0; g < program.groups.size(); ++g) {
    rows.push_back({ToString(program.groups[g], program.meshes), fmt::format("{}", bytes[g].payload),
                    fmt::format("{}", bytes[g].wire)});
  }
  return "<h2>Groups</h2>\n<pre>" + EscapedHtml(FormatTable(rows, 1)) + "</pre>\n";
}

}  // namespace

std::string PlanToHtml(const ExplainedPlan& explained) {
  const size_t kinds = explained.plan.step.timelines.size();
  const std::string drawn = kinds > kMostRanks ? fmt::format("; {} of {} kinds of ranks", kMostRanks, kinds) : "";
  const std::string body =
      fmt::format("<h1>{} on {}</h1>\n<p>A step takes {} us{}.</p>\n", EscapedHtml(explained.model),
                  EscapedHtml(explained.cluster), Microseconds(explained.explanation.time.step_ns), drawn) +
      Legend() + TimelinePicture(explained) + MemoryPicture(explained) + GroupsTable(explained.plan.program) +
      "<h2>Why</h2>\n<pre>" + EscapedHtml(ExplanationToText(explained, /*full=*/false)) + "</pre>\n";
  return HtmlPage("trainer plan", "body { max-width: 72em; }\n", body);
}

}  // namespace partita
