// The plans next to one: those that differ from it in the config of one op.
#ifndef PARTITA_PARTITIONER_SEARCH_NEIGHBOURS_H_
#define PARTITA_PARTITIONER_SEARCH_NEIGHBOURS_H_

#include <vector>

#include "partitioner/search/answer.h"
#include "partitioner/search/elimination/cost_tables.h"

namespace partita {

// The fastest `count` possible ones, and why each was rejected: by how much it is slower, or that it needs more than
// `bytes`.
std::vector<Rejected> Neighbours(const CostTables& tables, const std::vector<int>& configs, double bytes,
                                 int count = 8);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_NEIGHBOURS_H_
