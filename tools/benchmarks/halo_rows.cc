#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/halo_benchmark.h"

namespace partita {

std::string ToText(const std::vector<HaloRow>& rows) {
  std::string text =
      fmt::format("{:<15} {:>5} {:>7} {:>7} {:>12} {:>6} {:>9} {:>6} {:>12} {:>10}\n", "model", "ranks", "delayed",
                  "overlap", "convolutions", "rounds", "step_ms", "ratio", "in_flight_ms", "exposed_ms");
  for (const HaloRow& row : rows) {
    text += fmt::format("{:<15} {:>5} {:>7} {:>7} {:>12} {:>6} {:>9.3f} {:>6.3f} {:>12.3f} {:>10.3f}\n", row.model,
                        row.ranks, row.delayed, row.overlap, row.convolutions, row.rounds, row.step_ms, row.ratio,
                        row.in_flight_ms, row.exposed_ms);
  }
  return text;
}

std::string ToJson(const std::vector<HaloRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const HaloRow& row : rows) {
    list.push_back({{"model", row.model},
                    {"ranks", row.ranks},
                    {"delayed", row.delayed},
                    {"overlap", row.overlap},
                    {"convolutions", row.convolutions},
                    {"rounds", row.rounds},
                    {"step_ms", row.step_ms},
                    {"ratio", row.ratio},
                    {"in_flight_ms", row.in_flight_ms},
                    {"exposed_ms", row.exposed_ms}});
  }
  return list.dump(2) + "\n";
}

}  // namespace partita
