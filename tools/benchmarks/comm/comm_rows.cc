#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/comm/comm_benchmark.h"

namespace partita {

std::string ToText(const std::vector<CommRow>& rows) {
  std::string text = fmt::format("{:<15} {:<13} {:>10} {:<6} {:>12} {:>10} {:>10} {:>10} {:>7}\n", "collective",
                                 "backend", "bytes", "place", "us", "latency us", "algbw GB/s", "busbw GB/s", "ratio");
  for (const CommRow& row : rows) {
    text +=
        fmt::format("{:<15} {:<13} {:>10} {:<6} {:>12.1f} {:>10.1f} {:>10.2f} {:>10.2f} {:>7}\n", row.collective,
                    row.backend, row.bytes, row.in_place ? "in" : "out", row.microseconds, row.latency_microseconds,
                    row.algorithm_bandwidth, row.bus_bandwidth, row.ratio == 0 ? "" : fmt::format("{:.2f}", row.ratio));
  }
  return text;
}

std::string ToJson(const std::vector<CommRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const CommRow& row : rows) {
    list.push_back({{"collective", row.collective},
                    {"backend", row.backend},
                    {"bytes", row.bytes},
                    {"in_place", row.in_place},
                    {"microseconds", row.microseconds},
                    {"latency_microseconds", row.latency_microseconds},
                    {"ratio", row.ratio},
                    {"algorithm_bandwidth", row.algorithm_bandwidth},
                    {"bus_bandwidth", row.bus_bandwidth}});
  }
  return list.dump(2) + "\n";
}

}  // namespace partita
