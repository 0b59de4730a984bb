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

// The plan is proven to be the best where nothing limits `bytes`, the sum of the ops' bytes; with a limit it mostly is
// (limited_search.h), else `lower_bound` says how far it is from that. Rejected: of the plans that differ in one op.
// Refuses graphs of which an op must be eliminated from more than 4 others, tables that would not fit, and limits that
// no plan keeps, with the plan of the fewest bytes.
absl::StatusOr<Answer<Configs>> LayerwiseSearch(const CostTables& tables, double bytes = kNever);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_LAYERWISE_SEARCH_H_
