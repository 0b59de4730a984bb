// Estimates the time of a collective among ranks with equal links, by the textbook formulas: a message of n bytes takes
// latency + n / speed, and a rank sends one while it receives one (docs/papers.md 13.1).
#ifndef PARTITA_PARTITIONER_COST_COLLECTIVE_COST_H_
#define PARTITA_PARTITIONER_COST_COLLECTIVE_COST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "graph/schedule/schedule.h"

namespace partita {

inline constexpr CollectiveKind kCollectives[] = {CollectiveKind::kAllReduce,     CollectiveKind::kAllGather,
                                                  CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                                  CollectiveKind::kReduce,        CollectiveKind::kAllToAll};
// By its Name.
std::optional<CollectiveKind> FindCollective(const std::string& name);

// In which pattern ranks send to each other. What a pattern does not have takes that of the ring.
enum class CollectiveForm : uint8_t {
  kRing,       // n - 1 rounds, or 2 (n - 1) of an all_reduce
  kTree,       // two binary trees at once, pipelined; all_reduce, broadcast, reduce
  kRecursive,  // halving and doubling: ceil(log2 n) rounds each
};

// Seconds for a message: what a link costs.
struct AlphaBeta {
  double alpha = 0;  // seconds for each message
  double beta = 0;   // seconds for each byte

  double SecondsOf(double bytes) const { return alpha + beta * bytes; }
};

// `bytes`: of the whole value, gathered or reduced; of an all_to_all what one rank holds. One rank takes no time.
double CollectiveSeconds(CollectiveKind collective, CollectiveForm form, double bytes, int ranks,
                         const AlphaBeta& link);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_COLLECTIVE_COST_H_
