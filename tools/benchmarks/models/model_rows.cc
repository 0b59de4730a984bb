// The rows of `benchmark models` as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/models/model_benchmark.h"

namespace partita {

std::string ToText(const std::vector<ModelRow>& rows) {
  std::string text;
  for (const ModelRow& row : rows) {
    text += fmt::format("{:<12} {:<15} batch {:<5} {:<5} {:>9.0f} samples/s  {:>8.2f} TFLOP/s, {:>3.0f} % of the limit",
                        row.device, row.model, row.batch, row.precision, row.samples_per_s, row.flops_per_s / 1e12,
                        100 * row.limit_share);
    if (!row.peer.empty()) text += fmt::format("   {:.2f} of {}", row.ratio, row.peer);
    text += "\n";
    for (const PeerMode& mode : row.modes) {
      text += mode.failure.empty()
                  ? fmt::format("  {:<8} {:>9.0f} samples/s, ratio {:.2f}\n", mode.name, mode.samples_per_s, mode.ratio)
                  : fmt::format("  {:<8} does not run: {}\n", mode.name, mode.failure);
    }
  }
  return text;
}

std::string ToJson(const std::vector<ModelRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const ModelRow& row : rows) {
    nlohmann::json modes = nlohmann::json::array();
    for (const PeerMode& mode : row.modes) {
      modes.push_back({{"name", mode.name},
                       {"samples_per_s", mode.samples_per_s},
                       {"ratio", mode.ratio},
                       {"failure", mode.failure}});
    }
    json.push_back({{"device", row.device},
                    {"model", row.model},
                    {"batch", row.batch},
                    {"precision", row.precision},
                    {"samples_per_s", row.samples_per_s},
                    {"flops_per_s", row.flops_per_s},
                    {"limit_share", row.limit_share},
                    {"peer", row.peer},
                    {"modes", std::move(modes)},
                    {"ratio", row.ratio}});
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
