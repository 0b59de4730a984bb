// ToHtml: the rows of `benchmark models` as a page with bars.
#include <fmt/format.h>

#include <algorithm>

#include "run/host/host.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "runtime/telemetry/progress.h"
#include "tools/benchmarks/models/model_benchmark.h"

namespace partita {
namespace {

constexpr char kStyle[] = R"(h2 { margin-bottom: 0; }
p { margin: .2em 0 .8em; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1em; }
th, td { text-align: left; padding: .15em .6em .15em 0; white-space: nowrap; }
th { font-weight: 600; border-bottom: 1px solid var(--rule); }
td.wide { width: 60%; }
.bar { position: relative; height: 1.1em; background: var(--shade); }
.bar div { position: absolute; height: 100%; }
.ours { background: var(--backward); }
.other { background: var(--dim); }
.bar .range { background: none; border: solid var(--ink); border-width: 0 2px; height: 60%; top: 20%; }
.note { color: var(--dim); }
)";

constexpr char kFoot[] =
    R"(<p class="note">Medians over rounds in which all train in turns; brackets: where the median lies
with 95 % (of fewer than 6 rounds: the lowest and the highest). Of words those are counted that are predicted. Memory is
the most that the whole process had; what it grew by is the same less what it had once its libraries were loaded. How
fast products, convolutions, copies, an element-wise op and a sum are at best is measured in the same rounds; the limit
is the time of a step in which each launch computes as fast as the fastest, or moves its operands as fast as so many
bytes are moved.</p>
)";

// Of a bar that is `most` long.
double Percent(double value, double most) { return most > 0 ? std::clamp(100 * value / most, 0.0, 100.0) : 0; }

std::string Bar(const char* style, double value, double most) {
  return fmt::format("<div class=\"{}\" style=\"width:{:.2f}%\"></div>", style, Percent(value, most));
}

std::string RangeBar(const Interval& range, double most) {
  const double begin = Percent(range.low, most);
  return fmt::format("<div class=\"range\" style=\"left:{:.2f}%;width:{:.2f}%\"></div>", begin,
                     Percent(range.high, most) - begin);
}

std::string Line(const std::string& name, const std::string& bar, const std::string& text) {
  return fmt::format("<tr><td>{}</td><td class=\"wide\"><div class=\"bar\">{}</div></td><td>{}</td></tr>\n",
                     EscapedHtml(name), bar, EscapedHtml(text));
}

std::string Title(const std::string& title) {
  return fmt::format("<table><tr><th colspan=\"3\">{}</th></tr>\n", title);
}

// Ours first.
std::vector<Throughput> All(const ModelRow& row) {
  std::vector<Throughput> all = {row.ours};
  all.insert(all.end(), row.others.begin(), row.others.end());
  return all;
}

const char* StyleOf(const Throughput& entry, const ModelRow& row) {
  return entry.name == row.ours.name ? "ours" : "other";
}

std::string ThroughputTable(const ModelRow& row) {
  double most = 0;
  for (const Throughput& entry : All(row)) most = std::max(most, entry.per_s.interval.high);
  std::string text = Title(row.unit.name + "/s");
  for (const Throughput& entry : All(row)) {
    const Estimate& speed = entry.per_s;
    const std::string ratio = entry.name == row.ours.name ? "" : fmt::format("; ours {:.2f} of it", entry.ratio.median);
    text += entry.failure.empty()
                ? Line(entry.name, Bar(StyleOf(entry, row), speed.median, most) + RangeBar(speed.interval, most),
                       fmt::format("{:.2f} ({:.2f} to {:.2f}){}", speed.median, speed.interval.low, speed.interval.high,
                                   ratio))
                : Line(entry.name, "", "does not run: " + entry.failure);
  }
  return text + "</table>\n";
}

std::string MemoryTable(const ModelRow& row) {
  const LoopFacts& session = row.session;
  const int64_t whole = session.planned_process_bytes;
  int64_t most = std::max(session.planned_bytes, whole);
  for (const Throughput& entry : All(row)) most = std::max(most, entry.resident_bytes);
  const auto line = [most](const std::string& name, const char* style, int64_t bytes, const std::string& more) {
    const std::string bar = Bar(style, static_cast<double>(bytes), static_cast<double>(most));
    return Line(name, bar, FormatBytes(bytes) + more);
  };
  std::string text = Title("memory") + line("ours, arenas as planned", "ours", session.planned_bytes, "");
  if (whole > 0) text += line("ours, whole process as planned", "ours", whole, "");
  for (const Throughput& entry : All(row)) {
    if (!entry.failure.empty()) continue;
    text += line(entry.name, StyleOf(entry, row), entry.resident_bytes,
                 fmt::format("; grew by {}", FormatBytes(entry.grown_bytes)));
  }
  return text + "</table>\n";
}

std::string ShareTable(const ModelRow& row) {
  std::string text = Title("shares");
  const auto add = [&text](const char* name, double share) {
    text += Line(name, Bar("ours", share, 1), fmt::format("{:.1f} %", 100 * share));
  };
  add("model FLOPs of the fastest product's", row.flop_utilisation);
  add("of the limit", row.limit_share);
  if (row.session.ranks > 1) add("exposed communication", row.exposed_share);
  return text + "</table>\n";
}

std::string PeerText(const ModelRow& row) {
  if (row.peer.empty()) return "";
  const std::string agreement =
      row.agreement.batch == 0
          ? "not compared (--skip-agreement)"
          : fmt::format(
                "one step of {} samples agrees: loss to {:.1e}, {} gradients to {:.1e} of f64 (its own: {:.1e})",
                row.agreement.batch, row.agreement.loss_difference, row.agreement.gradients,
                row.agreement.gradient_error, row.agreement.peer_error);
  return fmt::format("<p>{}: {}. Best of its forms: {}; ours {:.2f} of that ({:.2f} to {:.2f}).</p>\n",
                     EscapedHtml(row.peer), agreement, row.best.empty() ? "none runs" : EscapedHtml(row.best),
                     row.ratio.median, row.ratio.interval.low, row.ratio.interval.high);
}

}  // namespace

std::string ToHtml(const std::vector<ModelRow>& rows) {
  const Host host = ThisHost();
  std::string text = fmt::format("<h1>Training throughput and memory</h1>\n<p>{}, {}, {}</p>\n",
                                 EscapedHtml(host.processor), EscapedHtml(host.system), TimeNow());
  for (const ModelRow& row : rows) {
    text +=
        fmt::format("<h2>{} {}</h2>\n<p>batch {}{} on {}, {}</p>\n", EscapedHtml(row.model), row.precision, row.batch,
                    SizesText(row), EscapedHtml(row.session.device), EscapedHtml(RanksText(row.session)));
    text += ThroughputTable(row) + PeerText(row) + MemoryTable(row) + ShareTable(row);
  }
  return HtmlPage("benchmark models", kStyle, text + kFoot);
}

}  // namespace partita
