// The price of a byte in seconds under a memory limit, and the bound that it proves (Lagrange).
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_MEMORY_PRICE_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_MEMORY_PRICE_H_

#include <vector>

#include "partitioner/search/elimination/bucket_elimination.h"
#include "partitioner/search/elimination/cost_tables.h"

namespace partita {

struct PricedPlan {
  double price = 0;        // seconds per byte
  double lower_bound = 0;  // of all plans that fit
  std::vector<int> fits;   // the fastest that was met
};

// The elimination in which each byte costs `price`.
BucketElimination Priced(const CostTables& tables, const EliminationOrder& order, double price);

// `fastest` does not fit, `fits` does.
PricedPlan BestPrice(const CostTables& tables, const EliminationOrder& order, const std::vector<int>& fastest,
                     std::vector<int> fits, double bytes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_MEMORY_PRICE_H_
