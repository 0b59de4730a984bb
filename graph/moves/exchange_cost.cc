#include "graph/moves/exchange_cost.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace partita {
namespace {

struct Message {
  int from = 0, to = 0;
  double seconds = 0;
};

class Replay {
 public:
  Replay(int ranks, int64_t element_bytes, const LinkCost& link)
      : element_bytes_(element_bytes), link_(link), ready_(ranks, 0.0), out_(ready_), in_(ready_) {}

  void Round(const std::vector<TileSend>& sends) {
    const std::vector<Message> messages = MessagesOf(sends);
    using Start = std::pair<double, size_t>;
    std::priority_queue<Start, std::vector<Start>, std::greater<>> waiting;
    for (size_t m = 0; m < messages.size(); ++m) waiting.push({EarliestStart(messages[m]), m});
    while (!waiting.empty()) {
      const auto [start, m] = waiting.top();
      waiting.pop();
      const Message& message = messages[m];
      const double now = EarliestStart(message);
      if (now > start) {
        waiting.push({now, m});
      } else {
        out_[message.from] = in_[message.to] = start + message.seconds;
      }
    }
    for (size_t r = 0; r < ready_.size(); ++r) ready_[r] = out_[r] = in_[r] = std::max(out_[r], in_[r]);
  }

  double seconds() const { return *std::max_element(ready_.begin(), ready_.end()); }

 private:
  double EarliestStart(const Message& message) const { return std::max(out_[message.from], in_[message.to]); }

  // One for each pair, those first that go first among equals: of the busiest rank, the largest; then so that ranks
  // that all send to each other do not meet at one.
  std::vector<Message> MessagesOf(const std::vector<TileSend>& sends) const {
    std::vector<Message> messages;
    for (const TileSend& send : sends) {
      if (messages.empty() || messages.back().from != send.from || messages.back().to != send.to) {
        messages.push_back({send.from, send.to, link_.latency});
      }
      messages.back().seconds += static_cast<double>(send.count * element_bytes_) / link_.bytes_per_second;
    }
    std::vector<double> sent(ready_.size(), 0.0), received = sent;
    std::vector<int> place(ready_.size(), 0);  // among those that take part
    for (const Message& message : messages) {
      sent[message.from] += message.seconds;
      received[message.to] += message.seconds;
      place[message.from] = place[message.to] = 1;
    }
    int places = 0;
    for (int& taken : place) taken = taken == 0 ? 0 : places++;
    const auto order = [&](const Message& message) {
      const int distance = (place[message.to] - place[message.from] + places) % places;
      return std::tuple(-std::max(sent[message.from], received[message.to]), -message.seconds, distance, message.from);
    };
    std::sort(messages.begin(), messages.end(),
              [&](const Message& a, const Message& b) { return order(a) < order(b); });
    return messages;
  }

  const int64_t element_bytes_;
  const LinkCost& link_;
  std::vector<double> ready_;     // by rank: when its last round was over
  std::vector<double> out_, in_;  // by rank: when it can send and receive again
};

class Chooser {
 public:
  Chooser(std::span<const ExchangeBoxes> groups, int64_t element_bytes, const LinkCost& link)
      : groups_(groups), element_bytes_(element_bytes), link_(link) {}

  void Try(ExchangeMode mode, int chunks = 1) {
    double seconds = 0;
    for (const ExchangeBoxes& group : groups_) {
      const ExchangePlan plan = PlanExchange(group.from, group.to, mode, chunks);
      const int ranks = static_cast<int>(group.from.size());
      seconds = std::max(seconds, ReplaySeconds(plan, ranks, element_bytes_, link_));
    }
    if (best_ && best_->seconds <= seconds) return;
    best_ = {mode, chunks, seconds};
  }

  // The most elements of a tile that two receivers want; 0: there is none.
  int64_t LargestSharedTile() const {
    int64_t most = 0;
    for (const ExchangeBoxes& group : groups_) {
      const ExchangePlan plan = PlanExchange(group.from, group.to, ExchangeMode::kChain);
      for (size_t round = 1; round < plan.rounds.size(); ++round) {
        for (const TileSend& send : plan.rounds[round]) most = std::max(most, send.count);
      }
    }
    return most;
  }

  const ExchangeChoice& best() const { return *best_; }

 private:
  const std::span<const ExchangeBoxes> groups_;
  const int64_t element_bytes_;
  const LinkCost& link_;
  std::optional<ExchangeChoice> best_;
};

}  // namespace

double ReplaySeconds(const ExchangePlan& plan, int ranks, int64_t element_bytes, const LinkCost& link) {
  if (ranks == 0) return 0;
  Replay replay(ranks, element_bytes, link);
  for (const std::vector<TileSend>& round : plan.rounds) replay.Round(round);
  return replay.seconds();
}

ExchangeBoxes BoxesOfMove(const Layout& from, const Mesh& from_mesh, const Layout& to, const Mesh& to_mesh,
                          const Shape& shape, const std::vector<int>& ranks) {
  ExchangeBoxes boxes;
  const auto inside = [&](const Layout& layout, const Mesh& mesh, int rank) -> std::optional<Box> {
    std::optional<Box> box = LocalBox(layout, shape, mesh, rank);
    if (box) box = Intersect(*box, WholeBox(shape));
    return box && !box->empty() ? box : std::nullopt;
  };
  for (const int rank : ranks) {
    boxes.from.push_back(inside(from, from_mesh, rank));
    boxes.to.push_back(inside(to, to_mesh, rank));
  }
  return boxes;
}

ExchangeChoice ChooseExchange(std::span<const ExchangeBoxes> groups, int64_t element_bytes, const LinkCost& link,
                              std::optional<ExchangeMode> only) {
  Chooser chooser(groups, element_bytes, link);
  const int64_t shared = only == ExchangeMode::kDirect ? 0 : chooser.LargestSharedTile();
  if (shared == 0 || !only) chooser.Try(ExchangeMode::kDirect);
  if (shared == 0) return chooser.best();
  if (only != ExchangeMode::kChain) chooser.Try(ExchangeMode::kSlices);
  if (only == ExchangeMode::kSlices) return chooser.best();
  for (int chunks = 1; chunks <= kMostChunks; chunks *= 2) {
    chooser.Try(ExchangeMode::kChain, chunks);
    if (chunks >= shared) break;  // no chunk of the largest tile has more than one element
  }
  return chooser.best();
}

}  // namespace partita
