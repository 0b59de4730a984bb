// In which order ops are eliminated (Jia et al., 1802.04924: their node and edge eliminations are those of width 2).
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_ELIMINATION_ORDER_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_ELIMINATION_ORDER_H_

#include <vector>

#include "partitioner/search/elimination/cost_tables.h"

namespace partita {

struct EliminationOrder {
  std::vector<int> ops;  // the first is eliminated first
  int width = 0;         // of how many neighbours at most an op is eliminated
  int widest = 0;        // which op that is
  double entries = 0;    // of the largest table on the way
};

// Takes always an op whose elimination joins the fewest pairs of neighbours that had no edge (min-fill); of these one
// whose table is the smallest, then the first.
EliminationOrder MinFillOrder(const CostTables& tables);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_ELIMINATION_ORDER_H_
