// The schedule of a rank from that of one like it: the same launches at the same addresses, in other blocks of the
// values and other groups.
#ifndef PARTITA_GRAPH_ALIKE_DISPLACED_H_
#define PARTITA_GRAPH_ALIKE_DISPLACED_H_

#include <vector>

#include "graph/alike/alike_ranks.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/schedule.h"

namespace partita {

// By launch, of a kernel: with which values its operands are displaced (Operand::value), the inputs and then the
// outputs.
using OperandValues = std::vector<std::vector<ValueId>>;

// Of the launches as they will be bound.
OperandValues OperandValuesOf(const LocalProgram& lowered);

// `like`: of another rank for `entry`, from which `displacement` leads to `rank`.
Schedule Displaced(const Graph& entry, const Schedule& like, const OperandValues& operands,
                   const Displacement& displacement, int rank);

}  // namespace partita

#endif  // PARTITA_GRAPH_ALIKE_DISPLACED_H_
