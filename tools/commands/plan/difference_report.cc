#include "tools/commands/plan/difference_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "run/plan_page/numbers.h"
#include "run/plan_page/plan_parts.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRows = 12;  // of a table that is not full

constexpr char kLegend[] =
    "\nstep: by kind of work on the path that decides each, which adds up to it; wire: bytes that leave ranks\n"
    "S0/4: dimension 0 in 4 parts; At1/2: on the second of two; P/2: summands on two; whole: nothing is cut\n";

std::string PlanLine(const char* name, const DifferingPlan& plan) {
  const std::string fits = plan.plan.fits.ok() ? "" : "; " + std::string(plan.plan.fits.message());
  return fmt::format("{} {}: mesh {}{}\n", name, plan.name, ToString(plan.plan.program.meshes), fits);
}

std::string StepTable(const PlanDifference& difference) {
  std::vector<std::vector<std::string>> rows = {{"us", "A", "B", "B - A"}};
  const auto add = [&](const NumberDifference& number) {
    if (number.a == 0 && number.b == 0) return;
    rows.push_back({number.name, Microseconds(number.a), Microseconds(number.b), MoreMicroseconds(number.more())});
  };
  for (const NumberDifference& kind : difference.step) add(kind);
  add(difference.whole);
  return FormatTable(rows, 1);
}

std::string BytesTable(const std::string& title, const std::vector<NumberDifference>& numbers) {
  if (numbers.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{title, "A", "B", "B - A"}};
  for (const NumberDifference& number : numbers) {
    rows.push_back(
        {number.name, fmt::format("{}", number.a), fmt::format("{}", number.b), fmt::format("{:+}", number.more())});
  }
  return "\n" + FormatTable(rows, 1);
}

std::string More(size_t all, size_t shown) {
  return all > shown ? fmt::format("  ... {} more (--full)\n", all - shown) : "";
}

std::string SplitsTable(const PlanDifference& difference, size_t most) {
  std::string text = fmt::format("\n{} of {} nodes are split otherwise\n", difference.splits.size(), difference.nodes);
  if (difference.splits.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"node", "A", "B"}};
  for (size_t i = 0; i < difference.splits.size() && i < most; ++i) {
    const SplitDifference& split = difference.splits[i];
    rows.push_back({split.node, split.a, split.b});
  }
  return text + FormatTable(rows, 3) + More(difference.splits.size(), most);
}

std::string MovesTable(const char* name, const std::vector<StepMove>& moves, size_t most) {
  if (moves.empty()) return fmt::format("\nno move is only in {}\n", name);
  std::vector<std::vector<std::string>> rows = {{fmt::format("only in {}", name), "op", "along", "serves", "wire"}};
  for (size_t i = 0; i < moves.size() && i < most; ++i) {
    rows.push_back(
        {moves[i].name, moves[i].op, moves[i].along, ServedBy(moves[i]), fmt::format("{}", moves[i].bytes.wire)});
  }
  return "\n" + FormatTable(rows, 4) + More(moves.size(), most);
}

Json PlanJson(const DifferingPlan& plan) {
  return {{"strategy", plan.name},
          {"mesh", ToString(plan.plan.program.meshes)},
          {"ranks", plan.plan.program.ranks()},
          {"fits", plan.plan.fits.ok()}};
}

Json NumbersJson(const std::vector<NumberDifference>& numbers) {
  Json rows = Json::array();
  for (const NumberDifference& number : numbers) {
    rows.push_back({{"name", number.name}, {"a", number.a}, {"b", number.b}});
  }
  return rows;
}

Json MovesJson(const std::vector<StepMove>& moves) {
  Json rows = Json::array();
  for (const StepMove& move : moves) {
    rows.push_back({{"name", move.name},
                    {"op", move.op},
                    {"along", move.along},
                    {"serves", move.serves},
                    {"payload_bytes", move.bytes.payload},
                    {"wire_bytes", move.bytes.wire}});
  }
  return rows;
}

}  // namespace

std::string DifferenceToText(const DifferingPlan& a, const DifferingPlan& b, const PlanDifference& difference,
                             bool full) {
  const size_t most = full ? std::string::npos : kRows;
  return PlanLine("A", a) + PlanLine("B", b) + "\n" + StepTable(difference) +
         BytesTable("memory of the fullest rank, bytes", difference.memory) +
         BytesTable("wire bytes of a step along", difference.bytes) + SplitsTable(difference, most) +
         MovesTable("A", difference.only_a, most) + MovesTable("B", difference.only_b, most) + kLegend;
}

std::string DifferenceToJson(const DifferingPlan& a, const DifferingPlan& b, const PlanDifference& difference) {
  Json json{{"schema_version", 1},
            {"a", PlanJson(a)},
            {"b", PlanJson(b)},
            {"step_ns", {{"a", difference.whole.a}, {"b", difference.whole.b}}},
            {"path_ns", NumbersJson(difference.step)},
            {"memory_bytes", NumbersJson(difference.memory)},
            {"wire_bytes", NumbersJson(difference.bytes)},
            {"nodes", difference.nodes},
            {"splits", Json::array()},
            {"only_a", MovesJson(difference.only_a)},
            {"only_b", MovesJson(difference.only_b)}};
  for (const SplitDifference& split : difference.splits) {
    json["splits"].push_back({{"node", split.node}, {"a", split.a}, {"b", split.b}});
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
