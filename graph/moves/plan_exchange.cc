#include "graph/moves/plan_exchange.h"

#include <algorithm>

namespace partita {
namespace {

// Ranks that hold the same box, by the lowest of them.
std::vector<std::vector<int>> ReplicasOf(const std::vector<std::optional<Box>>& boxes) {
  std::vector<std::vector<int>> replicas;
  for (int r = 0; r < static_cast<int>(boxes.size()); ++r) {
    if (!boxes[r]) continue;
    const auto same = std::find_if(replicas.begin(), replicas.end(),
                                   [&](const std::vector<int>& ranks) { return boxes[ranks[0]] == boxes[r]; });
    if (same == replicas.end()) {
      replicas.push_back({r});
    } else {
      same->push_back(r);
    }
  }
  return replicas;
}

struct OpenTile {
  const std::vector<int>* holders;
  int to;
  Box tile;
};

}  // namespace

std::vector<TileSend> PlanExchange(const std::vector<std::optional<Box>>& from,
                                   const std::vector<std::optional<Box>>& to) {
  std::vector<TileSend> sends;
  std::vector<int64_t> load(from.size(), 0);  // elements
  std::vector<OpenTile> open;
  const std::vector<std::vector<int>> replicas = ReplicasOf(from);
  for (int r = 0; r < static_cast<int>(to.size()); ++r) {
    if (!to[r]) continue;
    for (const std::vector<int>& holders : replicas) {
      Box tile = Intersect(*from[holders[0]], *to[r]);
      if (tile.empty()) continue;
      if (from[r] == from[holders[0]]) {
        sends.push_back({r, r, std::move(tile)});
      } else if (holders.size() == 1) {
        load[holders[0]] += tile.elements();
        sends.push_back({holders[0], r, std::move(tile)});
      } else {
        open.push_back({&holders, r, std::move(tile)});
      }
    }
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const OpenTile& a, const OpenTile& b) { return a.tile.elements() > b.tile.elements(); });
  for (OpenTile& task : open) {
    const int sender =
        *std::min_element(task.holders->begin(), task.holders->end(), [&](int a, int b) { return load[a] < load[b]; });
    load[sender] += task.tile.elements();
    sends.push_back({sender, task.to, std::move(task.tile)});
  }
  std::sort(sends.begin(), sends.end(),
            [](const TileSend& a, const TileSend& b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
  return sends;
}

}  // namespace partita
