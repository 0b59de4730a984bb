// Jia's layer-wise search (1802.04924): a config for each op, so that the sum over ops and edges is the least; here for
// any graph of small width, and under a limit of memory, which the paper has not.
#ifndef PARTITA_PARTITIONER_SEARCH_LAYERWISE_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_LAYERWISE_SEARCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"
#include "partitioner/search/elimination/cost_tables.h"

namespace partita {

// A config for each op.
using Configs = std::vector<int>;

// Without a limit on `bytes`, the sum of the ops' bytes, the plan is proven optimal. With a limit it mostly is
// (limited_search.h); otherwise `lower_bound` bounds its gap. Rejected: plans that differ in one op. Refuses graphs in
// which eliminating an op joins more than 4 others, tables that would not fit, and limits that no plan keeps, with the
// plan of the fewest bytes.
absl::StatusOr<Answer<Configs>> LayerwiseSearch(const CostTables& tables, double bytes = kNever);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_LAYERWISE_SEARCH_H_
