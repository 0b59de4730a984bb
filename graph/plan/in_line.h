// Collectives that nothing can run beside, where one stream computes.
#ifndef PARTITA_GRAPH_PLAN_IN_LINE_H_
#define PARTITA_GRAPH_PLAN_IN_LINE_H_

#include <vector>

#include "graph/schedule/local_program.h"

namespace partita {

// For each launch: whether it is a collective between two computing launches, where the first produces its input and
// the second reads its output. On the stream of these two it needs no other thread: the computing thread joins the
// collective itself. Otherwise one thread would have to be woken for the collective and another one after it.
std::vector<bool> RunsInLine(const LocalProgram& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_IN_LINE_H_
