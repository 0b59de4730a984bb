// Estimates how long an exchange takes in each of its modes, and finds the fastest (docs/papers.md 4.2).
//
// Each rank sends one message at a time and, meanwhile, receives one; a message takes latency + bytes / speed; all that
// a rank sends to another in one round is one message. A rank begins a round when it has sent and received all of the
// round before. In a round that message starts next that can start first; among equals one of the busiest rank, then
// the largest. For one tile of one holder that takes t to send, without latency, and k receivers: direct k t, slices
// t (2 - 1/k), a chain in K chunks t (1 + (k - 1) / K).
#ifndef PARTITA_GRAPH_MOVES_EXCHANGE_COST_H_
#define PARTITA_GRAPH_MOVES_EXCHANGE_COST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/moves/plan_exchange.h"
#include "graph/value/layout.h"

namespace partita {

struct LinkCost {
  double latency = 0;           // seconds for each message
  double bytes_per_second = 1;  // of a rank, out and in
};

// When the last rank has all it shall hold.
double ReplaySeconds(const ExchangePlan& plan, int ranks, int64_t element_bytes, const LinkCost& link);

// What the ranks of a group hold before and after a move, without margins; no elements: nullopt.
struct ExchangeBoxes {
  std::vector<std::optional<Box>> from, to;
};
ExchangeBoxes BoxesOfMove(const Layout& from, const Mesh& from_mesh, const Layout& to, const Mesh& to_mesh,
                          const Shape& shape, const std::vector<int>& ranks);

struct ExchangeChoice {
  ExchangeMode mode = ExchangeMode::kDirect;
  int chunks = 1;  // of kChain: 1, 2, 4, ... kMostChunks
  double seconds = 0;
};

// The mode in which the slowest of the groups, which exchange at the same time, has done first; among equals the first
// one of ExchangeMode, then the fewest chunks. `only`: no other mode, but where no tile has two receivers all modes are
// the direct one.
ExchangeChoice ChooseExchange(std::span<const ExchangeBoxes> groups, int64_t element_bytes, const LinkCost& link,
                              std::optional<ExchangeMode> only = std::nullopt);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_EXCHANGE_COST_H_
