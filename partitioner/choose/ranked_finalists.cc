#include "partitioner/choose/ranked_finalists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kMega = 1e6;

// What is said of a plan that has more of an objective than the best, or as much.
struct Comparison {
  const char *worse, *same;
};

Comparison ComparisonBy(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kStep:
      break;
    case ObjectiveKind::kTimeToAccuracy:
      return {"later", "as soon"};
    case ObjectiveKind::kMemory:
      return {"larger", "as large"};
    case ObjectiveKind::kCost:
      return {"dearer", "as cheap"};
  }
  return {"slower", "as fast"};
}

// "1, 2, 4 ranks"
std::string RanksText(const std::set<int>& ranks) {
  return ranks.size() == 1 ? Counted(*ranks.begin(), "rank") : fmt::format("{} ranks", fmt::join(ranks, ", "));
}

absl::Status NoneRuns(const std::vector<Finalist>& finalists) {
  const Finalist* nearest = nullptr;
  std::set<int> ranks;
  for (const Finalist& finalist : finalists) {
    ranks.insert(finalist.setting.ranks);
    if (finalist.memory_bytes == 0 || !absl::IsResourceExhausted(finalist.status)) continue;
    if (nearest == nullptr || finalist.memory_bytes < nearest->memory_bytes) nearest = &finalist;
  }
  if (nearest == nullptr) return finalists[0].status;
  return ResourceExhausted(
      "no plan of {} fits; the nearest is {} on {}, whose fullest rank needs {} bytes: {:.0f} "
      "too many ({})",
      RanksText(ranks), Name(nearest->candidate.search), nearest->candidate.plan, nearest->memory_bytes,
      nearest->lacking_bytes, std::string(nearest->status.message()));
}

std::string ReasonAgainst(const Finalist& finalist, const Finalist& best) {
  if (!finalist.status.ok()) return std::string(finalist.status.message());
  const Comparison comparison = ComparisonBy(best.objective);
  const double more = finalist.value - best.value;
  if (more < 0) {
    const double percent = -100 * more / best.value;
    const int idle = finalist.candidate.idle_ranks;
    return fmt::format(
        "faster by only {:.1f} %, which predictions cannot tell, but {}", percent,
        idle > 0 ? fmt::format("{} would be idle", Counted(idle, "rank"))
                 : fmt::format("needs {}, not {}", Counted(finalist.setting.ranks, "rank"), best.setting.ranks));
  }
  if (more > 0) return fmt::format("{} by {:.1f} %", comparison.worse, 100 * more / best.value);
  const double slower = finalist.seconds - best.seconds;
  if (slower > 0) return fmt::format("{}, slower by {:.1f} %", comparison.same, 100 * slower / best.seconds);
  return fmt::format("{}, less plain", comparison.same);
}

std::string Proof(const Candidate& candidate) {
  if (!candidate.judgement) return "plain";
  if (candidate.judgement->Gap() == 0) return "the best on its tables";
  return fmt::format("gap {:.2f} %", 100 * candidate.judgement->Gap());
}

// All that were looked for as the chosen one was, and of each other setting the best.
std::vector<const Finalist*> Told(const std::vector<Finalist>& finalists) {
  std::vector<const Finalist*> told;
  for (const Finalist& one : finalists) {
    const bool is_first =
        std::ranges::none_of(told, [&](const Finalist* other) { return other->setting == one.setting; });
    if (is_first || one.setting == finalists[0].setting) told.push_back(&one);
  }
  return told;
}

// What a table has beside the columns of every objective.
std::string FurtherTitles(ObjectiveKind objective) {
  if (objective == ObjectiveKind::kTimeToAccuracy) return fmt::format("{:>9}  {:>11}  ", "batch", "training s");
  return objective == ObjectiveKind::kCost ? fmt::format("{:>9}  ", "device ms") : "";
}

std::string FurtherCells(const Finalist& one) {
  const bool compiled = one.seconds > 0;
  if (one.objective == ObjectiveKind::kTimeToAccuracy) {
    return fmt::format("{:>9}  {:>11}  ", one.setting.batch, compiled ? fmt::format("{:.3f}", one.value) : "-");
  }
  if (one.objective != ObjectiveKind::kCost) return "";
  return fmt::format("{:>9}  ", compiled ? fmt::format("{:.3f}", 1e3 * one.value) : "-");
}

std::string NameOf(const Finalist& one) {
  const bool batches = one.objective == ObjectiveKind::kTimeToAccuracy;
  return one.candidate.plan + (batches ? fmt::format(" at a batch of {}", one.setting.batch) : "");
}

}  // namespace

absl::StatusOr<std::vector<Finalist>> Ranked(std::vector<Finalist> finalists, const Objective& objective) {
  for (Finalist& one : finalists) {
    one.objective = objective.kind;
    if (one.seconds == 0) continue;
    const PlanFigures figures{one.seconds, one.memory_bytes, one.setting.ranks, one.setting.batch};
    ASSIGN_OR_RETURN(one.value, ValueOf(objective, figures));
  }
  const auto rank = [](const Finalist& one) { return std::tuple(!one.status.ok(), one.value, one.seconds); };
  std::ranges::stable_sort(finalists, {}, rank);
  if (!finalists[0].status.ok()) return NoneRuns(finalists);
  return finalists;
}

void PreferFewerRanks(std::vector<Finalist>& ranked) {
  if (ranked[0].objective != ObjectiveKind::kStep) return;
  const double most = ranked[0].value * (1 + kPredictionError);
  const auto eligible = [&](const Finalist& one) { return one.status.ok() && one.value <= most; };
  const auto end = std::ranges::find_if_not(ranked, eligible);
  const auto waste = [](const Finalist& one) { return std::pair(one.candidate.idle_ranks > 0, one.setting.ranks); };
  const auto best = std::ranges::min_element(ranked.begin(), end, {}, waste);
  std::rotate(ranked.begin(), best, best + 1);
}

std::string FormatFinalists(const std::vector<Finalist>& finalists) {
  static constexpr char kRow[] = "{:<9}  {:<{}}  {:>9}  {:>9}  {}{}\n";
  const std::vector<const Finalist*> told = Told(finalists);
  size_t width = 4;
  for (const Finalist* one : told) width = std::max(width, one->candidate.plan.size());
  std::string text =
      fmt::format(kRow, "search", "plan", width, "step ms", "memory MB", FurtherTitles(finalists[0].objective), "why");
  for (const Finalist* one : told) {
    const bool compiled = one->seconds > 0, chosen = one == &finalists[0];
    text += fmt::format(kRow, Name(one->candidate.search), one->candidate.plan, width,
                        compiled ? fmt::format("{:.3f}", 1e3 * one->seconds) : "-",
                        compiled ? fmt::format("{:.1f}", static_cast<double>(one->memory_bytes) / kMega) : "-",
                        FurtherCells(*one),
                        (chosen ? "chosen; " : ReasonAgainst(*one, finalists[0]) + "; ") + Proof(one->candidate));
  }
  return text;
}

std::vector<std::string> ReasonsFor(const std::vector<Finalist>& finalists) {
  const Finalist& best = finalists[0];
  const Candidate& candidate = best.candidate;
  const char* const plain = candidate.judgement ? "" : ", a plain plan, as flags ask for";
  std::vector<std::string> lines = {
      fmt::format("Found by the search '{}': {}{}.", Name(candidate.search), NameOf(best), plain),
      fmt::format("Predicted: {:.3f} ms a step, {:.1f} MB on the fullest rank.", 1e3 * best.seconds,
                  static_cast<double>(best.memory_bytes) / kMega)};
  if (candidate.strategy.bucket_bytes > 0) {
    lines.push_back(fmt::format("Gradients are summed in buckets of {} MiB, which is faster than the compiler's size.",
                                candidate.strategy.bucket_bytes >> 20));
  }
  if (best.objective != ObjectiveKind::kStep) {
    lines.push_back(fmt::format("Chosen by {}: {}.", Name(best.objective), FormatValue(best.objective, best.value)));
  }
  if (candidate.judgement) {
    lines.push_back(fmt::format(
        "The search's tables estimate {:.3f} ms, and at least {:.3f} ms for every plan of its kind on its mesh: {}.",
        1e3 * candidate.judgement->seconds, 1e3 * candidate.judgement->lower_bound, Proof(candidate)));
    if (candidate.search == SearchKind::kLayerwise) {
      lines.push_back(
          "Each layer was chosen for itself: all plans of grids and of groups are among those that were searched.");
    }
  }
  for (const Finalist* one : Told(finalists)) {
    if (one == &best) continue;
    lines.push_back(
        fmt::format("Not {} ({}): {}.", Name(one->candidate.search), NameOf(*one), ReasonAgainst(*one, best)));
  }
  if (!candidate.judgement) return lines;
  for (const Rejected& rejected : candidate.judgement->rejected)
    lines.push_back(fmt::format("Next to it, on the tables: {}: {}.", rejected.plan, rejected.reason));
  return lines;
}

std::string FormatWords(const std::vector<Finalist>& finalists) {
  struct Word {
    const char *part, *meaning;
  };
  static constexpr Word kWords[] = {
      {"data:", "data:N       N replicas of the model, each with its share of the samples"},
      {"model:", "model:N      N ranks share the layers of a replica"},
      {"stage:", "stage:N      N pipeline stages of consecutive layers, a rank each"},
      {"a0:", "a0:N, a1:N   factors of the ranks; each layer is split along a dimension of its own over each"},
      {"--dp=", "--dp, --mp   what these flags say"},
      {" idle)", "ranks idle   ranks of the mesh that compute nothing, because fewer are faster"},
      {"micro-batch",
       "gpipe, 1f1b  order of the micro-batches on a stage: all forward first; forward and backward in "
       "turns (_overlap: while others travel)"},
      {"sums hidden", "sums hidden  chosen as if computing hid all sums of gradients; step ms says what it hides"},
      {", by ", "by           the search that found it, whose plans are among those of the search in front"},
      {"the best that", "that fits    of the plans that fit by the tables"},
      {"buckets of",
       "buckets      gradients are summed in buckets of this size; unless a plan names one, the compiler chooses it"},
  };
  std::string text, plans;
  bool tables = false;
  for (const Finalist* one : Told(finalists)) {
    plans += one->candidate.plan + "\n";
    tables = tables || one->candidate.judgement;
  }
  for (const auto& [part, meaning] : kWords) {
    if (plans.find(part) != std::string::npos) text += fmt::format("{}\n", meaning);
  }
  if (!tables) return text;
  return text +
         "tables       estimates of each layer and transfer, which the search adds up; step ms is simulated\n"
         "gap          how much slower than the best plan of its kind it can be, on the tables\n";
}

std::string FormatValue(ObjectiveKind objective, double value) {
  switch (objective) {
    case ObjectiveKind::kStep:
      break;
    case ObjectiveKind::kTimeToAccuracy:
      return fmt::format("{:.3f} s of training", value);
    case ObjectiveKind::kMemory:
      return fmt::format("{:.1f} MB on the fullest rank", value / kMega);
    case ObjectiveKind::kCost:
      return fmt::format("{:.3f} ms of all devices together in a step", 1e3 * value);
  }
  return fmt::format("{:.3f} ms a step", 1e3 * value);
}

}  // namespace partita
