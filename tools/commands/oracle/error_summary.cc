#include "tools/commands/oracle/error_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "partitioner/profile/quartiles.h"

namespace partita {
namespace {

std::vector<std::string> KindsOf(const std::vector<GradedRun>& runs) {
  std::vector<std::string> kinds;
  for (const GradedRun& run : runs) {
    for (const GradedTerm& term : run.terms) {
      if (std::ranges::find(kinds, term.kind) == kinds.end()) kinds.push_back(term.kind);
    }
  }
  return kinds;
}

ErrorSummary Summarise(const std::string& kind, const std::vector<GradedRun>& runs) {
  ErrorSummary summary{kind, 0, 0, 0, -1, ""};
  std::vector<double> errors;
  for (const GradedRun& run : runs) {
    for (const GradedTerm& term : run.terms) {
      if (term.kind != kind) continue;
      errors.push_back(term.error());
      if (term.error() <= summary.worst) continue;
      summary.worst = term.error();
      summary.worst_run = fmt::format("{} on {} at {}", run.model, run.strategy, run.time);
    }
  }
  summary.runs = static_cast<int64_t>(errors.size());
  summary.mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  summary.median = QuartilesOf(std::move(errors)).median;
  return summary;
}

}  // namespace

std::vector<ErrorSummary> SummariseErrors(const std::vector<GradedRun>& runs) {
  std::vector<ErrorSummary> summaries;
  for (const std::string& kind : KindsOf(runs)) summaries.push_back(Summarise(kind, runs));
  return summaries;
}

std::string ToText(const std::vector<ErrorSummary>& errors) {
  std::string text =
      fmt::format("{:<28} {:>6} {:>9} {:>9} {:>9}   worst of\n", "error of", "runs", "mean", "median", "worst");
  for (const ErrorSummary& error : errors) {
    text += fmt::format("{:<28} {:>6} {:>7.1f} % {:>7.1f} % {:>7.1f} %   {}\n", error.kind, error.runs,
                        100 * error.mean, 100 * error.median, 100 * error.worst, error.worst_run);
  }
  return text;
}

std::string ToJson(const std::vector<ErrorSummary>& errors) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
  for (const ErrorSummary& error : errors) {
    kinds.push_back({{"term", error.kind},
                     {"runs", error.runs},
                     {"mean", error.mean},
                     {"median", error.median},
                     {"worst", error.worst},
                     {"worst_run", error.worst_run}});
  }
  return nlohmann::ordered_json{{"schema_version", 1}, {"errors", kinds}}.dump(2) + "\n";
}

}  // namespace partita
