#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/library/library_benchmark.h"

namespace partita {

std::string ToText(const std::vector<LibraryRow>& rows) {
  std::string text =
      fmt::format("{:<15} {:<8} {:>5} {:>10} {:>10} {:>7} {:>15} {:>17} {:>14}\n", "model", "call", "batch", "own us",
                  "partita.h", "C", "interval of C", "processor: C++", "processor: C");
  for (const LibraryRow& row : rows) {
    text += fmt::format("{:<15} {:<8} {:>5} {:>10.1f} {:>10.3f} {:>7.3f} {:>15} {:>17.3f} {:>14.3f}\n", row.model,
                        row.call, row.batch, row.own_us, row.cpp, row.c,
                        fmt::format("{:.3f} to {:.3f}", row.c_low, row.c_high), row.cpp_processor, row.c_processor);
  }
  return text + "\n" + "own: the runtime's session; others: ratios to it in the same round, medians\n";
}

std::string ToJson(const std::vector<LibraryRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const LibraryRow& row : rows) {
    json.push_back({{"model", row.model},
                    {"call", row.call},
                    {"batch", row.batch},
                    {"own_us", row.own_us},
                    {"cpp", row.cpp},
                    {"c", row.c},
                    {"c_low", row.c_low},
                    {"c_high", row.c_high},
                    {"cpp_processor", row.cpp_processor},
                    {"c_processor", row.c_processor}});
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
