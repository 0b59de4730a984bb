#include "run/plan_page/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "graph/make_program.h"
#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/pictures/step_picture.h"
#include "run/plan_page/numbers.h"
#include "run/plan_page/plan_blocks.h"
#include "runtime/base/number.h"
#include "runtime/telemetry/progress.h"

namespace partita {
namespace {

// What one stream of a rank does; of collectives how long they wait for the last of their group.
StepRow RowOf(const ExplainedPlan& explained, int timeline, int stream) {
  const RankTimeline& rank = explained.plan.step.timelines[timeline];
  StepRow row(fmt::format("rank {}, stream {}", rank.rank, stream), explained.explanation.time.step_ns);
  const Arrivals& arrivals = explained.explanation.arrivals;
  for (int l = 0; l < static_cast<int>(rank.spans.size()); ++l) {
    const Launch& launch = *rank.spans[l].launch;
    if (launch.stream != stream) continue;
    TimeRange range = RangeOf(rank.spans[l]);
    if (std::holds_alternative<CollectiveLaunch>(launch.work)) {
      const int64_t last = RangeOf(arrivals.span(arrivals.LastOf({timeline, l}))).begin_ns;
      row.Add(kWaiting, launch.name, {range.begin_ns, last});
      range.begin_ns = last;
    }
    row.Add(KindOfWork(launch), launch.name, range);
  }
  return row;
}

// The path above, and below it a row for each stream of each kind of rank.
std::string TimelinePicture(const ExplainedPlan& explained) {
  const PredictedPlan& plan = explained.plan;
  const int64_t step_ns = explained.explanation.time.step_ns;
  StepRow path("path", step_ns);
  for (const PathStretch& stretch : explained.explanation.path) {
    path.Add(KindOfWork(*stretch.launch), stretch.launch->name, stretch.range);
  }
  std::vector<std::vector<StepRow>> groups = {{path}};
  const int kinds = static_cast<int>(std::min(plan.step.timelines.size(), kDrawnRanks));
  for (int t = 0; t < kinds; ++t) {
    groups.emplace_back();
    for (int stream = 0; stream < plan.step.timelines[t].streams; ++stream) {
      groups.back().push_back(RowOf(explained, t, stream));
    }
  }
  return StepPicture(groups, step_ns);
}

// The schedule that the first rank of a kind has.
const Schedule& ScheduleOf(const PredictedPlan& plan, const RankTimeline& timeline) {
  return plan.train.schedules[plan.train.of_rank[timeline.rank]];
}

// Of the rank with the largest arena.
std::string MemorySection(const ExplainedPlan& explained) {
  const PredictedPlan& plan = explained.plan;
  const RankTimeline& fullest = *std::ranges::max_element(
      plan.step.timelines, {}, [&](const RankTimeline& timeline) { return ScheduleOf(plan, timeline).memory.total; });
  return "<h2>Memory</h2>\n" +
         MemoryPicture(ScheduleOf(plan, fullest), fullest, explained.explanation.time.step_ns, explained.memory_limit);
}

std::string NodesTable(const PlanBlock& block) {
  std::vector<std::vector<std::string>> rows = {
      {"node", "op", "type", "layout", "forward, us", "backward, us", "update, us", "collectives, us", "on wires"}};
  for (const BlockNode& node : block.nodes) {
    rows.push_back({node.name, node.op, node.type, node.layout});
    for (const int64_t ns : node.ns) rows.back().push_back(Microseconds(ns));
    rows.back().push_back(FormatBytes(node.wire_bytes));
  }
  const std::string times = block.times > 1 ? fmt::format(", all {} together", block.times) : "";
  return HtmlTable(fmt::format("Times of the rank's launches, bytes of all ranks{}", times), rows, 4);
}

// Of the rank that ends last.
std::string BlocksSection(const ExplainedPlan& explained) {
  const RankTimeline& longest = *std::ranges::max_element(
      explained.plan.step.timelines, {},
      [](const RankTimeline& timeline) { return timeline.spans.empty() ? 0 : timeline.spans.back().end; });
  BarChart chart{fmt::format("Time of rank {} by block", longest.rank), "time of launches, us", {}};
  std::string tables;
  for (const PlanBlock& block : BlocksOf(explained.plan.program, longest)) {
    const std::string times = block.times > 1 ? fmt::format(" × {}", block.times) : "";
    BarRow row{block.name + times, "", {}};
    constexpr const char* kStyles[] = {"forward", "backward", "update", "collective"};
    double sum = 0;
    for (size_t kind = 0; kind < std::size(kStyles); ++kind) {
      double us = 0;
      for (const BlockNode& node : block.nodes) us += static_cast<double>(node.ns[kind]) / 1e3;
      row.parts.push_back({us, kStyles[kind], kStyles[kind]});
      sum += us;
    }
    row.text = fmt::format("{:.1f} us", sum);
    chart.rows.push_back(row);
    tables += HtmlDetails(
        fmt::format("{}{}: {}", block.name, times, Counted(static_cast<int64_t>(block.nodes.size()), "node")),
        NodesTable(block));
  }
  return "<h2>Blocks</h2>\n<p>Equal blocks that follow each other are shown once. Launches side by side both "
         "count.</p>\n" +
         StepLegend(/*waits=*/false) + DrawBars(chart) + tables;
}

std::string GroupsSection(const Program& program) {
  if (program.groups.empty()) return "";
  const std::vector<MoveBytes> bytes = PredictBytes(program, program.graph(kTrainEntry));
  std::vector<std::vector<std::string>> rows = {{"group", "payload", "wire"}};
  for (size_t g = 0; g < program.groups.size(); ++g) {
    rows.push_back(
        {ToString(program.groups[g], program.meshes), FormatBytes(bytes[g].payload), FormatBytes(bytes[g].wire)});
  }
  return "<h2>Groups</h2>\n" + HtmlTable("Bytes of a step", rows);
}

}  // namespace

std::string PlanToHtml(const ExplainedPlan& explained) {
  const size_t kinds = explained.plan.step.timelines.size();
  const std::string drawn = kinds > kDrawnRanks ? fmt::format("; {} of {} kinds of ranks", kDrawnRanks, kinds) : "";
  const std::string title =
      fmt::format("{} on {}: {}", explained.model, explained.cluster, ToString(explained.plan.program.meshes));
  const std::string body = fmt::format("<h1>{}</h1>\n<p>A step takes {} us{}.</p>\n", EscapedHtml(title),
                                       Microseconds(explained.explanation.time.step_ns), drawn) +
                           StepLegend(/*waits=*/true) + TimelinePicture(explained) + BlocksSection(explained) +
                           MemorySection(explained) + GroupsSection(explained.plan.program) + "<h2>Why</h2>\n<pre>" +
                           EscapedHtml(ExplanationToText(explained, /*full=*/false)) + "</pre>\n";
  return HtmlPage(title, "body { max-width: 72em; }\n", body);
}

}  // namespace partita
