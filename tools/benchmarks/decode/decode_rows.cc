// The rows of `benchmark decode` as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/benchmarks/decode/decode_benchmark.h"

namespace partita {

std::string ToText(const std::vector<DecodeRow>& rows) {
  std::string text;
  for (const DecodeRow& row : rows) {
    text += fmt::format("{} to {} x {}  {:>6.0f} pictures/s of a core", row.pictures, row.size, row.size,
                        row.pictures_per_s);
    if (!row.peer.empty()) {
      text += fmt::format("   {} {:.0f}, ratio {:.2f}", row.peer, row.peer_pictures_per_s, row.ratio);
    }
    text += "\n";
  }
  return text;
}

std::string ToJson(const std::vector<DecodeRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const DecodeRow& row : rows) {
    nlohmann::json entry = {
        {"pictures", row.pictures}, {"size", row.size}, {"pictures_per_s", row.pictures_per_s}, {"peer", row.peer}};
    if (!row.peer.empty()) {
      entry["peer_pictures_per_s"] = row.peer_pictures_per_s;
      entry["ratio"] = row.ratio;
    }
    json.push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
