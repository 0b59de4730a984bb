// The rows of `benchmark train` as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/train_benchmark.h"

namespace partita {

std::string ToText(const std::vector<TrainRow>& rows) {
  std::string text;
  for (const TrainRow& row : rows) {
    text += fmt::format("{}  ranks {}  threads {}  statistics {:<2}  {:>6.0f} samples/s", row.model, row.ranks,
                        row.threads, row.statistics_samples, row.samples_per_s);
    if (!row.peer.empty()) {
      text += fmt::format("   {} {:.0f} samples/s, ratio {:.2f}", row.peer, row.peer_samples_per_s, row.ratio);
    }
    if (row.single_rank_ratio > 0) {
      text += fmt::format("   {:.2f} of one rank; a step has {:.1f} waits of {:.0f} us on average",
                          row.single_rank_ratio, row.waits_per_step, row.mean_wait_us);
    }
    text += "\n";
  }
  return text;
}

std::string ToJson(const std::vector<TrainRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const TrainRow& row : rows) {
    nlohmann::json entry = {{"model", row.model},
                            {"ranks", row.ranks},
                            {"threads", row.threads},
                            {"statistics_samples", row.statistics_samples},
                            {"samples_per_s", row.samples_per_s},
                            {"peer", ""},
                            {"peer_samples_per_s", ""},
                            {"ratio", ""}};
    if (!row.peer.empty()) {
      entry["peer"] = row.peer;
      entry["peer_samples_per_s"] = row.peer_samples_per_s;
      entry["ratio"] = row.ratio;
    }
    if (row.single_rank_ratio > 0) {
      entry["single_rank_ratio"] = row.single_rank_ratio;
      entry["waits_per_step"] = row.waits_per_step;
      entry["mean_wait_us"] = row.mean_wait_us;
    }
    json.push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
