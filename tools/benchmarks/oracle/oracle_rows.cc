#include "tools/benchmarks/oracle/oracle_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/benchmarks/oracle/kind_terms.h"
#include "tools/commands/oracle/graded_training.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

std::string ErrorOf(const StepErrorRow& row) {
  if (row.refused()) {
    return fmt::format("not shown: rounds spread by {:.0f} %, {:.0f} % are allowed", 100 * row.ratio.spread(),
                       100 * kMostSpread);
  }
  return fmt::format("{:.1f} %, {:.0f} % are allowed", 100 * row.error(), 100 * row.allowed());
}

std::string Exact(int64_t predicted, int64_t counted) {
  return predicted == counted ? fmt::format("{}", counted) : fmt::format("{} ({} predicted)", counted, predicted);
}

Json ToJson(const Quartiles& quartiles) {
  return {{"median", quartiles.median}, {"low", quartiles.low}, {"high", quartiles.high}};
}

}  // namespace

std::string ToText(const std::vector<StepErrorRow>& rows) {
  std::string text = fmt::format("{:<15}{:>6}{:>14}{:>13}{:>12}  {:<14}  {}\n", "model", "ranks", "predicted ms",
                                 "measured ms", "memory", "wire bytes", "error");
  for (const StepErrorRow& row : rows) {
    text += fmt::format("{:<15}{:>6}{:>14.3f}{:>13.3f}{:>12}  {:<14}  {}\n", row.model, row.ranks,
                        1e3 * row.predicted.median, 1e3 * row.measured.median, Exact(row.planned_bytes, row.used_bytes),
                        Exact(row.predicted_wire, row.counted_wire), ErrorOf(row));
  }
  return text;
}

std::string ToText(const PlanOrder& order) {
  std::string text = fmt::format("\n{} on {} ranks\n", order.model, order.ranks);
  text += fmt::format("  {:<68}{:>14}{:>10}{:>20}{:>9}\n", "plan", "predicted ms", "measured", "95 % of its median",
                      "error");
  for (const OrderedPlan& plan : order.plans) {
    text += fmt::format("  {:<68}{:>14.3f}{:>10.3f}{:>11.3f} ..{:>6.3f}{:>7.1f} %\n", plan.plan, 1e3 * plan.predicted,
                        1e3 * plan.median, 1e3 * plan.measured.low, 1e3 * plan.measured.high, 100 * plan.error());
  }
  const std::vector<std::string> inversions = order.inversions();
  text +=
      fmt::format("  {} of {} pairs can be told apart ({} are needed), {} of them are predicted the other way round\n",
                  order.told_apart(), order.pairs(), order.needed(), inversions.size());
  for (const std::string& inversion : inversions) text += fmt::format("    {}\n", inversion);
  return text;
}

std::string Summary(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders) {
  const auto not_shown = std::ranges::count_if(rows, &StepErrorRow::refused);
  const auto shown = std::ranges::count_if(rows, [](const auto& row) { return row.holds() && !row.refused(); });
  const char* verdict = not_shown == 0 ? "it holds" : "nothing that is shown fails";
  if (!Holds(rows, orders)) verdict = "it does not hold";
  return fmt::format("\nsteps: {} of {} shown to be as they must be, {} not shown; orders of plans: {} of {}; {}\n",
                     shown, rows.size(), not_shown, std::ranges::count_if(orders, &PlanOrder::holds), orders.size(),
                     verdict);
}

std::string ToJson(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders) {
  Json steps = Json::array(), all = Json::array();
  for (const StepErrorRow& row : rows) {
    steps.push_back({{"model", row.model},
                     {"ranks", row.ranks},
                     {"predicted_seconds", ToJson(row.predicted)},
                     {"measured_seconds", ToJson(row.measured)},
                     {"predicted_over_measured", ToJson(row.ratio)},
                     {"refused", row.refused()},
                     {"error", row.error()},
                     {"allowed", row.allowed()},
                     {"planned_bytes", row.planned_bytes},
                     {"used_bytes", row.used_bytes},
                     {"predicted_wire_bytes", row.predicted_wire},
                     {"counted_wire_bytes", row.counted_wire}});
  }
  for (const PlanOrder& order : orders) {
    Json plans = Json::array();
    for (const OrderedPlan& plan : order.plans) {
      plans.push_back({{"plan", plan.plan},
                       {"predicted_seconds", plan.predicted},
                       {"measured_seconds", plan.median},
                       {"error", plan.error()},
                       {"low", plan.measured.low},
                       {"high", plan.measured.high}});
    }
    all.push_back({{"model", order.model},
                   {"ranks", order.ranks},
                   {"plans", std::move(plans)},
                   {"pairs", order.pairs()},
                   {"told_apart", order.told_apart()},
                   {"needed", order.needed()},
                   {"inversions", order.inversions()}});
  }
  return Json{{"steps", std::move(steps)}, {"orders", std::move(all)}}.dump(1) + "\n";
}

std::vector<GradedRun> RunsOf(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders) {
  GradedRun run = RunHere();
  run.cluster = "this-machine";
  std::vector<GradedRun> runs;
  for (const StepErrorRow& row : rows) {
    if (row.refused()) continue;
    run.model = row.model;
    run.strategy = fmt::format("data:{} model:1", row.ranks);
    run.terms = {{"step", row.predicted.median, row.measured.median},
                 {"memory", static_cast<double>(row.planned_bytes), static_cast<double>(row.used_bytes)}};
    AddKindTerms(row.predicted_kinds, row.measured_kinds, run.terms);
    runs.push_back(run);
  }
  for (const PlanOrder& order : orders) {
    for (const OrderedPlan& plan : order.plans) {
      run.model = order.model;
      run.strategy = fmt::format("{} ranks: {}", order.ranks, plan.plan);
      run.terms = {{"step", plan.predicted, plan.median}};
      AddKindTerms(plan.predicted_kinds, plan.measured_kinds, run.terms);
      runs.push_back(run);
    }
  }
  return runs;
}

bool Holds(const std::vector<StepErrorRow>& rows, const std::vector<PlanOrder>& orders) {
  return std::ranges::all_of(rows, &StepErrorRow::holds) && std::ranges::all_of(orders, &PlanOrder::holds);
}

}  // namespace partita
