// Bucket elimination with lists of (seconds, bytes) in place of numbers: the fastest plan that fits.
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_PARETO_ELIMINATION_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_PARETO_ELIMINATION_H_

#include <optional>
#include <vector>

#include "partitioner/search/elimination/bucket_elimination.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "partitioner/search/elimination/elimination_order.h"

namespace partita {

struct ParetoLimits {
  double bytes = kNever;
  double seconds = kNever;   // slower plans are of no interest
  double price = 0;          // of a byte, at which `seconds` are bounded from below
  double coarseness = 0;     // 0.005: the plan is within 0.5 % of the best
  double most_points = 1e7;  // that are looked at
};

struct ParetoResult {
  bool finished = false;                 // within `most_points`
  std::optional<std::vector<int>> plan;  // none: no plan keeps the limits
};

ParetoResult ParetoElimination(const CostTables& tables, const EliminationOrder& order, const ParetoLimits& limits);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_PARETO_ELIMINATION_H_
