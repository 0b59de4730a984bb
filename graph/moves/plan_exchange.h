// Plans an exchange: which rank sends which box when a value changes its layout (docs/papers.md 4.1; arXiv 2211.05322,
// section 3).
//
// A tile is what a box of the source and boxes of the destination have in common; replicas of a source box can all send
// it. A receiver that holds a tile keeps its own. In three modes each tile goes to all others that want it:
//
//   direct      each receiver gets it from that holder that has least to send so far
//   slices      cut into a slice for each receiver, which gets it from a holder and gives it to the others
//   chain       along a chain of its receivers, in chunks: in each round each of them moves on by one
//
// A tile that one rank alone wants is sent to it at once in every mode. In all modes a receiver gets each element once,
// so they move the same bytes; but in the last two an element leaves the ranks that held it once, however many want it.
#ifndef PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_
#define PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/value/shape.h"

namespace partita {

enum class ExchangeMode : uint8_t { kDirect, kSlices, kChain };
const char* Name(ExchangeMode mode);  // "direct", "slices", "chain"
std::optional<ExchangeMode> FindExchangeMode(const std::string& name);
std::vector<std::string> ExchangeNames();  // what a user may say: "auto" and the modes

inline constexpr int kMostChunks = 64;  // of a chain

// Elements [first, first + count) of a tile, in its row-major order.
struct TileSend {
  int from = 0, to = 0;  // positions in the lists of boxes; the same: kept
  int tile = 0;
  int64_t first = 0, count = 0;

  bool operator==(const TileSend&) const = default;
};

struct ExchangePlan {
  std::vector<Box> tiles;
  std::vector<TileSend> kept;  // whole tiles
  // What is sent in a round lies where it is sent from: the rank holds the tile, or got these elements in a round
  // before. None is empty; by receiver, then by sender, then by tile.
  std::vector<std::vector<TileSend>> rounds;
};

// What each rank holds before and shall hold afterwards; nothing, or no elements: nullopt. Boxes of `from` are equal or
// have no element in common. `chunks`: of kChain, 1 to kMostChunks. Directly sent, there is at most one round, and
// at most one tile for each pair of ranks. Every rank that plans the same exchange gets the same plan.
ExchangePlan PlanExchange(const std::vector<std::optional<Box>>& from, const std::vector<std::optional<Box>>& to,
                          ExchangeMode mode = ExchangeMode::kDirect, int chunks = 1);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_
