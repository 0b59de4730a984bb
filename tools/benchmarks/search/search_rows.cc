// Rows of `benchmark search` as text and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/search/search_benchmark.h"

namespace partita {

std::string ToText(const std::vector<SearchRow>& rows) {
  std::string text =
      fmt::format("{:<10} {:<15}{:>5}{:>8}{:>7}{:>9}{:>12}{:>12}{:>12}{:>12}{:>9}{:>8}{:>11}{:>11}{:>8}\n", "search",
                  "model", "ops", "layers", "ranks", "choices", "layers ms", "edges ms", "search ms", "given ms",
                  "tables", "growth", "step ms", "memory MB", "gap");
  for (const SearchRow& row : rows) {
    if (!row.refused.empty()) {
      text += fmt::format("{:<10} {:<15}{:>20}  {}\n", Name(row.search), row.model, row.ranks, row.refused);
      continue;
    }
    text += fmt::format(
        "{:<10} {:<15}{:>5}{:>8}{:>7}{:>9}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>7.0f} "
        "%{:>8}{:>11.3f}{:>11.1f}{:>6.2f} %\n",
        Name(row.search), row.model, row.ops, row.layers, row.ranks, row.timed.choices, row.timed.layers_ms,
        row.timed.edges_ms, row.timed.search_ms, row.timed.given_layers_ms(), 100 * row.TablesShare(),
        row.growth > 0 ? fmt::format("{:.2f}", row.growth) : "-", row.timed.step_ms, row.timed.bytes / 1e6,
        100 * row.timed.gap);
  }
  return text;
}

std::string ToJson(const std::vector<SearchRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SearchRow& row : rows) {
    if (!row.refused.empty()) {
      json.push_back(
          {{"search", Name(row.search)}, {"model", row.model}, {"ranks", row.ranks}, {"refused", row.refused}});
      continue;
    }
    json.push_back({{"search", Name(row.search)},
                    {"model", row.model},
                    {"ops", row.ops},
                    {"layers", row.layers},
                    {"ranks", row.ranks},
                    {"choices", row.timed.choices},
                    {"layers_ms", row.timed.layers_ms},
                    {"edges_ms", row.timed.edges_ms},
                    {"search_ms", row.timed.search_ms},
                    {"given_layers_ms", row.timed.given_layers_ms()},
                    {"tables_share", row.TablesShare()},
                    {"growth", row.growth},
                    {"step_ms", row.timed.step_ms},
                    {"memory_bytes", row.timed.bytes},
                    {"gap", row.timed.gap}});
  }
  return json.dump(1) + "\n";
}

}  // namespace partita
