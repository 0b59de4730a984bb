// Chooses blocks to recompute so that a plan fits. Tables suggest candidates, and the compiler checks each one, because
// only a compiled plan shows what an arena needs.
#ifndef PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_
#define PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_

#include <functional>
#include <optional>

#include "partitioner/repair/repairs.h"
#include "partitioner/search/recompute_search.h"

namespace partita {

// A strategy with these blocks, compiled.
using MeasureBlocks = std::function<Repair(const RecomputePlan& blocks)>;

// The fastest plan that fits, else the one expected to need the least memory, which does not fit either; nullopt:
// nothing can be released. With up to five stretches, all plans are compiled, the fastest first, until one fits. With
// more, bisection finds the first that fits among the worthwhile plans of the tables (RecomputePlans). Dropping a block
// or one of its stretches then makes it faster while it still fits: about 20 plans are compiled.
std::optional<Repair> FittingBlocks(const RecomputeTables& tables, const MeasureBlocks& measure);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_
