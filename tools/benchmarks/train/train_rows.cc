// The rows of `benchmark train` as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/train/train_benchmark.h"

namespace partita {

namespace {

std::string ToText(const RankCommunication& rank) {
  return fmt::format(
      "  rank {}: communication {:.0f} us a step, exposed {:.0f} us (hidden {:.0f} %); gradients {:.0f} us, exposed "
      "{:.0f} us (hidden behind the backward pass {:.0f} %)\n",
      rank.rank, 1e6 * rank.busy, 1e6 * rank.exposed, 100 * rank.hidden_share, 1e6 * rank.gradient_busy,
      1e6 * rank.gradient_exposed, 100 * rank.gradient_hidden_share);
}

nlohmann::json ToJson(const RankCommunication& rank) {
  return {{"rank", rank.rank},
          {"steps", rank.steps},
          {"busy_us", 1e6 * rank.busy},
          {"exposed_us", 1e6 * rank.exposed},
          {"gradient_busy_us", 1e6 * rank.gradient_busy},
          {"gradient_exposed_us", 1e6 * rank.gradient_exposed},
          {"gradient_behind_backward_us", 1e6 * rank.gradient_behind_backward},
          {"hidden_share", rank.hidden_share},
          {"gradient_hidden_share", rank.gradient_hidden_share}};
}

}  // namespace

std::string ToText(const std::vector<TrainRow>& rows) {
  std::string text;
  for (const TrainRow& row : rows) {
    text += fmt::format("{} {}  ranks {}  threads {}  statistics {:<2}  {:>6.0f} samples/s", row.model, row.precision,
                        row.ranks, row.threads, row.statistics_samples, row.samples_per_s);
    if (row.processes) text += "   as processes";
    if (!row.peer.empty()) {
      text += fmt::format("   {} {:.0f} samples/s, ratio {:.2f}", row.peer, row.peer_samples_per_s, row.ratio);
    }
    if (row.single_rank_ratio > 0) {
      text += fmt::format("   {:.2f} of one rank; a step has {:.1f} waits of {:.0f} us on average",
                          row.single_rank_ratio, row.waits_per_step, row.mean_wait_us);
    }
    text += "\n";
    for (const RankCommunication& rank : row.communication) text += ToText(rank);
  }
  return text;
}

std::string ToJson(const std::vector<TrainRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const TrainRow& row : rows) {
    nlohmann::json entry = {{"model", row.model},
                            {"precision", row.precision},
                            {"ranks", row.ranks},
                            {"processes", row.processes},
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
    for (const RankCommunication& rank : row.communication) entry["communication"].push_back(ToJson(rank));
    json.push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
