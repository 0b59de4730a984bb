#include "run/plan_page/explanation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "partitioner/choose/ranked_finalists.h"
#include "run/plan_page/numbers.h"
#include "run/plan_page/plan_parts.h"
#include "runtime/base/number.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRows = 8;  // of a table that is not full
constexpr size_t kRanks = 6;

constexpr char kLegend[] =
    "\npath: the chain of launches that the step waits for from beginning to end; shares add up to the step\n"
    "computing hides all else; transfer: bytes on their way; waiting: for ranks that come to a collective later;\n"
    "idle: the rank has ended, others have not\n";

std::vector<PathShare> SharesByGroup(const ExplainedPlan& explained) {
  return SharesOfPath(explained.explanation.path,
                      [&](const Launch& launch) { return WorkOfGroup(explained.plan.program, launch); });
}

std::vector<PathShare> SharesByLaunch(const ExplainedPlan& explained) {
  return SharesOfPath(explained.explanation.path, [](const Launch& launch) { return launch.name; });
}

std::string RanksText(const std::vector<int>& ranks) {
  if (ranks.size() <= kRanks) return fmt::format("{}", fmt::join(ranks, ","));
  return fmt::format("{},... ({} ranks)", fmt::join(ranks.begin(), ranks.begin() + kRanks, ","), ranks.size());
}

std::string PathTable(const std::string& title, const std::vector<PathShare>& shares, size_t most, int64_t step_ns) {
  std::vector<std::vector<std::string>> rows = {{title, "us", "of step", "launches"}};
  PathShare rest{"others", 0, 0};
  for (size_t i = 0; i < shares.size(); ++i) {
    if (i < most) {
      rows.push_back({shares[i].label, Microseconds(shares[i].ns), Percent(shares[i].ns, step_ns),
                      fmt::format("{}", shares[i].stretches)});
    } else {
      rest.ns += shares[i].ns;
      rest.stretches += shares[i].stretches;
    }
  }
  if (rest.stretches > 0) {
    rows.push_back({rest.label, Microseconds(rest.ns), Percent(rest.ns, step_ns), fmt::format("{}", rest.stretches)});
  }
  return FormatTable(rows, 1);
}

std::vector<std::string> SharesRow(const std::string& title, const StepShares& shares) {
  return {title,
          Microseconds(shares.compute_ns),
          Microseconds(shares.transfer_ns),
          Microseconds(shares.waiting_ns),
          Microseconds(shares.idle_ns),
          Microseconds(shares.sum_ns())};
}

std::string SharesTable(const TimeOfStep& time, size_t most) {
  std::vector<std::vector<std::string>> rows = {
      {"where time goes, us", "computing", "transfer", "waiting", "idle", "step"}};
  for (size_t c = 0; c < time.classes.size() && c < most; ++c) {
    rows.push_back(SharesRow(fmt::format("rank {}", RanksText(time.classes[c].ranks)), time.classes[c].shares));
  }
  if (time.classes.size() > most) {
    rows.push_back({fmt::format("... {} more (--full)", time.classes.size() - most), "", "", "", "", ""});
  }
  rows.push_back(SharesRow("all ranks together", time.all));
  return FormatTable(rows, 1);
}

std::string CollectivesTable(const ExplainedPlan& explained, size_t most) {
  const std::vector<CollectiveShares>& collectives = explained.explanation.time.collectives;
  if (collectives.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"exposed, us of all ranks", "along", "serves", "payload bytes", "transfer", "waiting", "on path"}};
  for (size_t i = 0; i < collectives.size() && i < most; ++i) {
    const StepMove* const move = explained.explanation.MoveOf(collectives[i]);
    rows.push_back({collectives[i].name, move == nullptr ? "" : move->along, move == nullptr ? "" : ServedBy(*move),
                    move == nullptr ? "" : fmt::format("{}", move->bytes.payload),
                    Microseconds(collectives[i].transfer_ns), Microseconds(collectives[i].waiting_ns),
                    Microseconds(explained.explanation.OnPath(collectives[i].name))});
  }
  return "\n" + FormatTable(rows, 3);
}

// The best that can be run beside the chosen one, and that was not passed over for it (PreferFewerRanks); nullptr:
// there is none.
const Finalist* NextBest(const std::vector<Finalist>& finalists) {
  for (size_t i = 1; i < finalists.size(); ++i) {
    if (finalists[i].status.ok() && finalists[i].value >= finalists[0].value) return &finalists[i];
  }
  return nullptr;
}

std::string SearchText(const std::vector<Finalist>& finalists) {
  if (finalists.empty()) return "";
  const double best = finalists[0].seconds;
  std::string text = "\n";
  if (const Finalist* const next = NextBest(finalists)) {
    text += fmt::format("the next best plan: {} on {}, {:.3f} us a step, {:.3f} us ({:.1f} %) {}, {} bytes\n",
                        Name(next->candidate.search), next->candidate.plan, 1e6 * next->seconds,
                        1e6 * std::abs(next->seconds - best), 100 * std::abs(next->seconds - best) / best,
                        next->seconds < best ? "less" : "more", next->memory_bytes);
  }
  for (const std::string& reason : ReasonsFor(finalists)) text += "  " + reason + "\n";
  return text;
}

Json SharesJson(const StepShares& shares) {
  return {{"compute_ns", shares.compute_ns},
          {"transfer_ns", shares.transfer_ns},
          {"waiting_ns", shares.waiting_ns},
          {"idle_ns", shares.idle_ns}};
}

Json PathJson(const std::vector<PathShare>& shares, const char* label) {
  Json rows = Json::array();
  for (const PathShare& share : shares) {
    rows.push_back({{label, share.label}, {"launches", share.stretches}, {"ns", share.ns}});
  }
  return rows;
}

Json CollectivesJson(const Explanation& explanation) {
  Json rows = Json::array();
  for (const CollectiveShares& collective : explanation.time.collectives) {
    Json row{{"name", collective.name},
             {"transfer_ns", collective.transfer_ns},
             {"waiting_ns", collective.waiting_ns},
             {"on_path_ns", explanation.OnPath(collective.name)}};
    if (const StepMove* const move = explanation.MoveOf(collective)) {
      row["along"] = move->along;
      row["serves"] = move->serves;
      row["payload_bytes"] = move->bytes.payload;
      row["wire_bytes"] = move->bytes.wire;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json SearchJson(const std::vector<Finalist>& finalists) {
  Json search{{"search", Name(finalists[0].candidate.search)},
              {"plan", finalists[0].candidate.plan},
              {"reasons", ReasonsFor(finalists)}};
  if (const Finalist* const next = NextBest(finalists)) {
    search["next_best"] = {{"search", Name(next->candidate.search)},
                           {"plan", next->candidate.plan},
                           {"step_seconds", next->seconds},
                           {"more_seconds", next->seconds - finalists[0].seconds},
                           {"memory_bytes", next->memory_bytes}};
  }
  return search;
}

}  // namespace

std::string ExplanationToText(const ExplainedPlan& explained, bool full) {
  const TimeOfStep& time = explained.explanation.time;
  const size_t most = full ? std::string::npos : kRows;
  return fmt::format("{} on {}, {}, mesh {}: a step takes {} us\n\n", explained.model, explained.cluster,
                     Counted(explained.plan.program.ranks(), "rank"), ToString(explained.plan.program.meshes),
                     Microseconds(time.step_ns)) +
         PathTable("what decides it: the path", SharesByGroup(explained), most, time.step_ns) + "\n" +
         PathTable("its longest launches", SharesByLaunch(explained), most, time.step_ns) + "\n" +
         SharesTable(time, most) + CollectivesTable(explained, most) + SearchText(explained.finalists) + kLegend;
}

std::string ExplanationToJson(const ExplainedPlan& explained) {
  const TimeOfStep& time = explained.explanation.time;
  Json json{{"schema_version", 1},
            {"model", explained.model},
            {"cluster", explained.cluster},
            {"mesh", ToString(explained.plan.program.meshes)},
            {"step_ns", time.step_ns},
            {"path", PathJson(SharesByGroup(explained), "work")},
            {"path_launches", PathJson(SharesByLaunch(explained), "launch")},
            {"classes", Json::array()},
            {"all_ranks", SharesJson(time.all)},
            {"collectives", CollectivesJson(explained.explanation)}};
  for (const ClassShares& of : time.classes) {
    Json row = SharesJson(of.shares);
    row["ranks"] = of.ranks;
    json["classes"].push_back(std::move(row));
  }
  if (!explained.finalists.empty()) json["search"] = SearchJson(explained.finalists);
  return json.dump(2) + "\n";
}

}  // namespace partita
