// The layer-wise search under a limit of memory, in three steps; each narrows the input of the next:
//
//   1. a price per byte is added to the seconds. The price at which the bound is the highest is found by lines through
//      the plans that fit and those that do not (Lagrange); plans on the way that fit are kept.
//   2. configs whose best plan at that price is slower than the best plan that fits are dropped.
//   3. on what is left, elimination with Pareto-optimal lists of (seconds, bytes), without those that cannot beat the
//      current plan. If there are too many, again with lists rounded to 0.5 %.
#ifndef PARTITA_PARTITIONER_SEARCH_LIMITED_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_LIMITED_SEARCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "partitioner/search/elimination/elimination_order.h"
#include "partitioner/search/elimination/pareto_elimination.h"

namespace partita {

// `fastest`: the best plan without the limit, which it breaks. Refuses a limit that no plan keeps. `most_points`: of
// the third step's lists, exact ones and coarse ones each; where both are more, the answer is what the price has found.
absl::StatusOr<Answer<std::vector<int>>> LimitedSearch(const CostTables& tables, const EliminationOrder& order,
                                                       const std::vector<int>& fastest, double bytes,
                                                       double most_points = ParetoLimits().most_points);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_LIMITED_SEARCH_H_
