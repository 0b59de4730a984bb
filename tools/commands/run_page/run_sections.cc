// RunToHtml: the sections of a run's page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/pictures/step_picture.h"
#include "runtime/base/number.h"
#include "runtime/telemetry/progress.h"
#include "tools/commands/run_page/run_page.h"

namespace partita {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr int kRefreshSeconds = 30;
constexpr size_t kTableRows = 200;
constexpr int kBarRows = 8;
constexpr double kMiB = 1 << 20;

std::string Number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-"; }

std::string Section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", title, body);
}

bool IsRunning(const RunFacts& facts) { return facts.report.outcome().empty(); }

std::string Duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string Status(const RunHistory& history, const RunFacts& facts) {
  const int64_t planned = std::max<int64_t>(history.planned_steps, 1);
  std::string text = fmt::format("<p><strong>{}</strong>: step {} of {} ({:.1f} %) at {}",
                                 IsRunning(facts) ? "running" : EscapedHtml(facts.report.outcome()), history.step,
                                 history.planned_steps, 100.0 * static_cast<double>(history.step) / planned,
                                 EscapedHtml(history.time));
  if (IsRunning(facts) && !history.steps().empty()) {
    const double left = static_cast<double>(planned - history.step) * history.steps().back().step_seconds;
    if (std::isfinite(left)) text += fmt::format(", about {} left", Duration(left));
  }
  text += "</p>\n";
  if (IsRunning(facts)) {
    text +=
        fmt::format("<progress max=\"{}\" value=\"{}\" aria-label=\"steps done\"></progress>\n", planned, history.step);
    text +=
        "<p>The run replaces this file every few seconds. If the time above stays, the run was ended from "
        "outside.</p>\n";
  }
  if (!history.error.empty()) text += fmt::format("<p>Error: {}</p>\n", EscapedHtml(history.error));
  if (facts.report.has_stopped_early()) {
    text += fmt::format("<p>Stopped early: {}</p>\n", EscapedHtml(facts.report.stopped_early()));
  }
  if (history.skipped > 0) text += fmt::format("<p>Skipped steps: {}</p>\n", history.skipped);
  return text;
}

// The names of all metrics, in the order of the first line that has them.
std::vector<std::string> MetricNames(const RunHistory& history) {
  std::vector<std::string> names;
  for (const std::vector<RecordedLine>* const lines : {&history.steps(), &history.evaluations()}) {
    for (const RecordedLine& line : *lines) {
      for (const auto& [name, value] : line.metrics) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

double MetricIn(const RecordedLine& line, const std::string& name) {
  return MetricOf(line.metrics, name).value_or(RecordedLine::kNone);
}

template <typename ValueOf>
ChartCurve CurveOf(const std::string& name, const std::vector<RecordedLine>& lines, const ValueOf& value_of) {
  ChartCurve curve{name, {}};
  for (const RecordedLine& line : lines) curve.points.push_back({static_cast<double>(line.step), value_of(line)});
  return curve;
}

const ReportPredictionProto* PredictionOf(const ReportProto& report, const std::string& term) {
  const auto found = std::ranges::find(report.predictions(), term, &ReportPredictionProto::term);
  return found == report.predictions().end() ? nullptr : &*found;
}

std::string Charts(const RunHistory& history, const RunFacts& facts) {
  const auto of_both = [&](const std::string& name, const auto& value_of) {
    return DrawCurves(
        {name,
         "step",
         name,
         {CurveOf("training", history.steps(), value_of), CurveOf("test", history.evaluations(), value_of)}});
  };
  const auto of_steps = [&](const char* title, const char* axis, const auto& value_of,
                            const std::optional<ChartLimit>& limit = {}) {
    return DrawCurves({title, "step", axis, {CurveOf(limit ? "measured" : "last", history.steps(), value_of)}, limit});
  };
  std::string charts = of_both("loss", [](const RecordedLine& line) { return line.loss; });
  for (const std::string& name : MetricNames(history)) {
    charts += of_both(name, [&](const RecordedLine& line) { return MetricIn(line, name); });
  }
  std::optional<ChartLimit> predicted;
  if (const ReportPredictionProto* const step = PredictionOf(facts.report, "step")) {
    predicted = {"predicted", 1e3 * step->predicted()};
  }
  charts += of_steps("learning rate", "learning rate", [](const RecordedLine& line) { return line.learning_rate; });
  charts += of_steps("norm of all gradients", "norm", [](const RecordedLine& line) { return line.gradient_norm; });
  charts += of_steps("throughput", "samples/s", [](const RecordedLine& line) { return line.samples_per_second; });
  charts += of_steps(
      "time of a step", "ms", [](const RecordedLine& line) { return 1e3 * line.step_seconds; }, predicted);
  return charts;
}

// At most kTableRows of them, evenly, and the last one.
std::string LinesTable(const std::string& caption, const std::vector<RecordedLine>& lines,
                       const std::vector<std::string>& metrics, bool of_steps) {
  if (lines.empty()) return "";
  const bool has_norms =
      std::ranges::any_of(lines, [](const RecordedLine& l) { return std::isfinite(l.gradient_norm); });
  Rows rows = {{"step", "epoch", "loss"}};
  rows[0].insert(rows[0].end(), metrics.begin(), metrics.end());
  if (has_norms) rows[0].push_back("gradient norm");
  if (of_steps) rows[0].insert(rows[0].end(), {"learning rate", "samples/s", "time of a step, ms"});
  const size_t every = (lines.size() + kTableRows - 1) / kTableRows;
  for (size_t i = 0; i < lines.size(); ++i) {
    const RecordedLine& line = lines[i];
    if (i % every != 0 && i + 1 != lines.size()) continue;
    rows.push_back({fmt::format("{}", line.step), Number(line.epoch), Number(line.loss)});
    for (const std::string& name : metrics) rows.back().push_back(Number(MetricIn(line, name)));
    if (has_norms) rows.back().push_back(Number(line.gradient_norm));
    if (!of_steps) continue;
    for (const double value : {line.learning_rate, line.samples_per_second, 1e3 * line.step_seconds}) {
      rows.back().push_back(Number(value));
    }
  }
  return HtmlTable(caption, rows, 0);
}

std::string Curves(const RunHistory& history, const RunFacts& facts) {
  const std::string charts = Charts(history, facts);
  if (charts.empty()) return "<p>No step has been recorded yet.</p>\n";
  const std::vector<std::string> metrics = MetricNames(history);
  return "<section class=\"scales\" id=\"logarithmic\">\n<h2 id=\"linear\">Curves</h2>\n"
         "<p>Scale: <a href=\"#linear\">linear</a>, <a href=\"#logarithmic\">logarithmic</a>. Points of training are "
         "means over the steps since the point before.</p>\n<div class=\"charts\">\n" +
         charts + "</div>\n</section>\n" +
         HtmlDetails("Numbers of the curves",
                     LinesTable("Training", history.steps(), metrics, /*of_steps=*/true) +
                         LinesTable("Test set", history.evaluations(), metrics, /*of_steps=*/false));
}

std::string Predictions(const ReportProto& report) {
  if (report.predictions().empty()) return "";
  Rows rows = {{"of a step", "predicted", "measured", "error"}}, kinds = rows;
  for (const ReportPredictionProto& term : report.predictions()) {
    const bool is_bytes = term.term() == "memory";
    const auto shown = [&](double value) {
      return is_bytes ? fmt::format("{:.0f} bytes", value) : fmt::format("{:.1f} us", 1e6 * value);
    };
    const bool is_measured = term.measured() > 0;
    const double error = std::abs(term.predicted() / term.measured() - 1);
    // "op conv2d", "group data": terms of launches, of which there are many.
    Rows& table = term.term().find(' ') == std::string::npos ? rows : kinds;
    table.push_back({term.term(), shown(term.predicted()), is_measured ? shown(term.measured()) : "-",
                     is_measured ? fmt::format("{:.1f} %", 100 * error) : "-"});
  }
  const std::string caption =
      fmt::format("Predicted for {}, measured here: the most of any rank, medians of the steps", report.cluster());
  const std::string text = HtmlTable(caption, rows);
  return kinds.size() == 1 ? text : text + HtmlDetails("Kinds of launches", HtmlTable("Launches of a step", kinds));
}

std::string Memory(const RunFacts& facts) {
  Rows rows = {{"rank", "planned, bytes", "used, bytes", "limit, bytes"}};
  BarChart chart{"Arenas", "MiB: used, and planned behind it", {}, {}};
  const std::string limit = facts.memory_limit ? fmt::format("{}", *facts.memory_limit) : "none";
  int64_t most = 0;
  for (const ReportMemoryProto& memory : facts.report.memory()) {
    const bool is_used = memory.used_bytes() > 0;
    most = std::max(most, memory.planned_bytes());
    rows.push_back({fmt::format("{}", memory.rank()), fmt::format("{}", memory.planned_bytes()),
                    is_used ? fmt::format("{}", memory.used_bytes()) : "-", limit});
    if (memory.rank() >= kBarRows) continue;
    const double used = static_cast<double>(memory.used_bytes()) / kMiB;
    const double unused = static_cast<double>(memory.planned_bytes()) / kMiB - used;
    chart.rows.push_back({fmt::format("rank {}", memory.rank()),
                          FormatBytes(memory.planned_bytes()),
                          {{used, "backward", "used"}, {std::max(unused, 0.0), "unused", "planned, not used"}}});
  }
  const bool draws_limit = facts.memory_limit && *facts.memory_limit / kLargestLimit <= most;
  if (draws_limit) chart.limit = {"limit", static_cast<double>(*facts.memory_limit) / kMiB};
  return DrawBars(chart) + HtmlTable("Arena of each rank", rows);
}

std::string Groups(const RunFacts& facts) {
  if (facts.report.groups().empty()) return "";
  Rows rows = {{"group", "payload predicted", "payload counted", "on wires predicted", "on wires counted"}};
  BarChart chart{"Bytes on wires of a step", "MiB", {}, {}};
  for (const ReportGroupProto& group : facts.report.groups()) {
    const double steps = std::max<double>(static_cast<double>(group.steps()), 1);
    const auto shown = [&](int64_t bytes) { return fmt::format("{:.0f}", static_cast<double>(bytes) / steps); };
    const bool is_counted = !IsRunning(facts);
    rows.push_back({group.name(), shown(group.predicted_payload_bytes()),
                    is_counted ? shown(group.counted_payload_bytes()) : "-", shown(group.predicted_wire_bytes()),
                    is_counted ? shown(group.counted_wire_bytes()) : "-"});
    const int64_t wire = is_counted ? group.counted_wire_bytes() : group.predicted_wire_bytes();
    if (static_cast<int>(chart.rows.size()) == kBarRows) continue;
    chart.rows.push_back({group.name(),
                          FormatBytes(static_cast<int64_t>(static_cast<double>(wire) / steps)),
                          {{static_cast<double>(wire) / steps / kMiB, "collective", "on wires"}}});
  }
  return DrawBars(chart) + HtmlTable("Bytes of a step, by group", rows);
}

std::string Shown(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kNumberValue:
      return fmt::format("{}", value.number_value());
    case google::protobuf::Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    default:
      return value.string_value();
  }
}

std::string Spec(const ReportProto& report) {
  Rows flags = {{"flag", "value"}};
  for (const auto& [name, value] : report.flags()) flags.push_back({"--" + name, Shown(value)});
  std::sort(flags.begin() + 1, flags.end());
  Rows facts = {{"what", "value"},
                {"graph", report.graph()},
                {"hash of the graph", report.graph_hash()},
                {"strategy", report.strategy()},
                {"seed", fmt::format("{}", report.seed())},
                {"host", report.host()},
                {"system", report.system()},
                {"version", fmt::format("{} ({})", report.tool_version(), report.revision())}};
  for (const ReportDeviceProto& device : report.devices()) {
    facts.push_back({fmt::format("rank {}", device.rank()),
                     fmt::format("{} {}, threads {}", device.kind(), device.name(), device.threads())});
  }
  Rows libraries = {{"library", "version"}};
  for (const auto& [name, version] : report.libraries()) libraries.push_back({name, version});
  std::sort(libraries.begin() + 1, libraries.end());
  return HtmlTable("Flags that had an effect", flags, 2) + HtmlTable("The run", facts, 2) +
         HtmlDetails("Libraries", HtmlTable("Libraries", libraries, 2));
}

std::string Next(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "<li>" + EscapedHtml(line) + "</li>\n";
  return "<ul>\n" + text + "</ul>\n";
}

}  // namespace

std::string RunToHtml(const RunHistory& history, const RunFacts& facts) {
  const ReportProto& report = facts.report;
  const std::string device = report.devices().empty() ? "" : " on " + report.devices(0).name();
  const std::string title =
      fmt::format("{}, {}, {}{}", report.model(), report.strategy(), Counted(report.devices_size(), "rank"), device);
  const std::string body = fmt::format("<h1>{}</h1>\n", EscapedHtml(title)) + Status(history, facts) +
                           Curves(history, facts) + Section("Resume and predict", Next(facts.next)) +
                           Section("Predicted and measured", Predictions(report)) + facts.pictures +
                           Section("Memory", Memory(facts)) + Section("Communication", Groups(facts)) +
                           Section("What ran", Spec(report));
  return HtmlPage(title, "body { max-width: 72em; }\n", body, IsRunning(facts) ? kRefreshSeconds : 0);
}

void AddPlanned(const Session& session, ReportProto& report) {
  for (int rank = 0; rank < session.ranks(); ++rank) {
    ReportMemoryProto* const memory = report.add_memory();
    memory->set_rank(rank);
    memory->set_planned_bytes(session.PlannedMemory(rank).total);
  }
  const std::vector<MoveBytes> bytes = session.PredictedBytes(kTrainEntry);
  for (size_t g = 0; g < bytes.size(); ++g) {
    ReportGroupProto* const group = report.add_groups();
    group->set_name(ToString(session.program().groups[g], session.program().meshes));
    group->set_steps(1);
    group->set_predicted_payload_bytes(bytes[g].payload);
    group->set_predicted_wire_bytes(bytes[g].wire);
  }
}

}  // namespace partita
