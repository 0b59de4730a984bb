// Which blocks to compute again so that a plan fits, with the compiler asked at each turn: tables say what may be worth
// it, and only what is compiled says what an arena needs.
#ifndef PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_
#define PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_

#include <functional>
#include <optional>

#include "partitioner/repair/repairs.h"
#include "partitioner/search/recompute_search.h"

namespace partita {

// A strategy with these blocks, compiled.
using MeasureBlocks = std::function<Repair(const RecomputePlan& blocks)>;

// The quickest that fits, else the one that should need least, which does not fit either; nullopt: nothing can be
// released. Of up to five stretches all plans are compiled, from the quickest on, until one fits. Of more, the first
// that fits is looked for by halving among those that are worth it by the tables (RecomputePlans), and made quicker, as
// long as that fits, by leaving out a block or one of its stretches: some 20 are compiled.
std::optional<Repair> FittingBlocks(const RecomputeTables& tables, const MeasureBlocks& measure);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_FITTING_BLOCKS_H_
