#include "graph/moves/plan_exchange.h"

#include <algorithm>
#include <tuple>

#include "graph/value/layout.h"

namespace partita {
namespace {

constexpr ExchangeMode kModes[] = {ExchangeMode::kDirect, ExchangeMode::kSlices, ExchangeMode::kChain};

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

struct Tile {
  Box box;
  std::vector<int> wanted_by;  // rising
};

// Of one source box: as destinations want it, or (unique) cut so that no element is in two tiles.
class Tiling {
 public:
  explicit Tiling(bool unique) : unique_(unique) {}

  void Add(const Box& box, int rank) {
    const auto same = std::find_if(tiles_.begin(), tiles_.end(), [&](const Tile& tile) { return tile.box == box; });
    if (same != tiles_.end()) {
      same->wanted_by.push_back(rank);
    } else if (unique_) {
      AddPieces(box, rank);
    } else {
      tiles_.push_back({box, {rank}});
    }
  }

  std::vector<Tile>& tiles() { return tiles_; }

 private:
  void AddPieces(const Box& box, int rank) {
    std::vector<Box> fresh = {box};
    const size_t known = tiles_.size();
    for (size_t t = 0; t < known; ++t) {
      const Box common = Intersect(tiles_[t].box, box);
      if (common.empty()) continue;
      std::vector<Box> rest;
      for (const Box& piece : fresh) {
        const Box seen = Intersect(piece, common);
        const std::vector<Box> unseen = seen.empty() ? std::vector<Box>{piece} : Around(seen, piece);
        rest.insert(rest.end(), unseen.begin(), unseen.end());
      }
      fresh = std::move(rest);
      for (Box& piece : Around(common, tiles_[t].box)) tiles_.push_back({std::move(piece), tiles_[t].wanted_by});
      tiles_[t].box = common;
      tiles_[t].wanted_by.push_back(rank);
    }
    for (Box& piece : fresh) tiles_.push_back({std::move(piece), {rank}});
  }

  const bool unique_;
  std::vector<Tile> tiles_;
};

class Planner {
 public:
  Planner(const std::vector<std::optional<Box>>& from, const std::vector<std::optional<Box>>& to, ExchangeMode mode,
          int chunks)
      : from_(from), to_(to), mode_(mode), chunks_(chunks), load_(from.size(), 0) {}

  ExchangePlan Plan() {
    const std::vector<std::vector<int>> replicas = ReplicasOf(from_);
    for (const std::vector<int>& holders : replicas) AddTiles(holders);
    ChooseSenders();
    std::erase_if(plan_.rounds, [](const std::vector<TileSend>& round) { return round.empty(); });
    const auto place = [](const TileSend& send) { return std::tuple(send.to, send.from, send.tile, send.first); };
    for (std::vector<TileSend>& round : plan_.rounds) {
      std::sort(round.begin(), round.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }
    return std::move(plan_);
  }

 private:
  // Elements that a holder is yet to be found for.
  struct Task {
    TileSend send;                    // without `from`
    const std::vector<int>* holders;  // rising
    std::vector<int> chain;           // receivers of kChain; else empty
  };

  void AddTiles(const std::vector<int>& holders) {
    Tiling tiling(mode_ != ExchangeMode::kDirect);
    for (int r = 0; r < static_cast<int>(to_.size()); ++r) {
      if (!to_[r]) continue;
      const Box common = Intersect(*from_[holders[0]], *to_[r]);
      if (!common.empty()) tiling.Add(common, r);
    }
    for (Tile& tile : tiling.tiles()) {
      const int id = static_cast<int>(plan_.tiles.size());
      const int64_t elements = tile.box.elements();
      for (int r : tile.wanted_by) {
        if (from_[r] == from_[holders[0]]) plan_.kept.push_back({r, r, id, 0, elements});
      }
      std::erase_if(tile.wanted_by, [&](int r) { return from_[r] == from_[holders[0]]; });
      plan_.tiles.push_back(std::move(tile.box));
      AddTasks({0, 0, id, 0, elements}, holders, std::move(tile.wanted_by));
    }
  }

  void AddTasks(TileSend whole, const std::vector<int>& holders, std::vector<int> receivers) {
    if (mode_ == ExchangeMode::kDirect || receivers.size() < 2) {
      for (int r : receivers) {
        whole.to = r;
        tasks_.push_back({whole, &holders, {}});
      }
    } else if (mode_ == ExchangeMode::kSlices) {
      AddSlices(whole, holders, receivers);
    } else {
      whole.to = receivers[0];
      tasks_.push_back({whole, &holders, std::move(receivers)});
    }
  }

  void AddSlices(const TileSend& whole, const std::vector<int>& holders, const std::vector<int>& receivers) {
    const std::vector<int64_t> cuts = BalancedCuts(whole.count, static_cast<int>(receivers.size()));
    for (size_t i = 0; i < receivers.size(); ++i) {
      TileSend slice{0, receivers[i], whole.tile, cuts[i], cuts[i + 1] - cuts[i]};
      if (slice.count == 0) continue;
      tasks_.push_back({slice, &holders, {}});
      slice.from = receivers[i];
      for (int other : receivers) {
        slice.to = other;
        if (other != slice.from) Round(1).push_back(slice);
      }
    }
  }

  // What one rank alone holds is its to send; then, the largest first, each is sent by who has least to send so far.
  void ChooseSenders() {
    std::stable_sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
      const auto order = [](const Task& task) {
        return std::tuple(task.holders->size() > 1, -task.send.count, task.send.to);
      };
      return order(a) < order(b);
    });
    for (Task& task : tasks_) {
      task.send.from = *std::min_element(task.holders->begin(), task.holders->end(),
                                         [&](int a, int b) { return load_[a] < load_[b]; });
      load_[task.send.from] += task.send.count;
      if (task.chain.empty()) {
        Round(0).push_back(task.send);
      } else {
        SendAlong(std::move(task.chain), task.send);
      }
    }
  }

  // At each place of the chain stands who has got least at that place of other chains.
  void SendAlong(std::vector<int> receivers, TileSend send) {
    const std::vector<int64_t> cuts = BalancedCuts(send.count, chunks_);
    for (size_t place = 0; !receivers.empty(); ++place) {
      if (at_place_.size() <= place) at_place_.emplace_back(from_.size(), 0);
      std::vector<int64_t>& got = at_place_[place];
      const auto next =
          std::min_element(receivers.begin(), receivers.end(), [&](int a, int b) { return got[a] < got[b]; });
      send.to = *next;
      got[send.to] += cuts.back();
      receivers.erase(next);
      for (size_t c = 0; c < static_cast<size_t>(chunks_); ++c) {
        send.first = cuts[c];
        send.count = cuts[c + 1] - cuts[c];
        if (send.count > 0) Round(place + c).push_back(send);
      }
      send.from = send.to;
    }
  }

  std::vector<TileSend>& Round(size_t round) {
    if (plan_.rounds.size() <= round) plan_.rounds.resize(round + 1);
    return plan_.rounds[round];
  }

  const std::vector<std::optional<Box>>&from_, &to_;
  const ExchangeMode mode_;
  const int chunks_;
  ExchangePlan plan_;
  std::vector<Task> tasks_;
  std::vector<int64_t> load_;                   // by rank: elements that it sends of its own
  std::vector<std::vector<int64_t>> at_place_;  // by place in chains and rank: elements got there
};

}  // namespace

const char* Name(ExchangeMode mode) {
  switch (mode) {
    case ExchangeMode::kDirect:
      return "direct";
    case ExchangeMode::kSlices:
      return "slices";
    case ExchangeMode::kChain:
      return "chain";
  }
  return "?";
}

std::optional<ExchangeMode> FindExchangeMode(const std::string& name) {
  for (const ExchangeMode mode : kModes) {
    if (name == Name(mode)) return mode;
  }
  return std::nullopt;
}

std::vector<std::string> ExchangeNames() {
  std::vector<std::string> names = {"auto"};
  for (const ExchangeMode mode : kModes) names.emplace_back(Name(mode));
  return names;
}

ExchangePlan PlanExchange(const std::vector<std::optional<Box>>& from, const std::vector<std::optional<Box>>& to,
                          ExchangeMode mode, int chunks) {
  return Planner(from, to, mode, chunks).Plan();
}

}  // namespace partita
