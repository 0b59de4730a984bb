// Collectives that nothing can run beside, where one stream computes.
#ifndef PARTITA_GRAPH_PLAN_IN_LINE_H_
#define PARTITA_GRAPH_PLAN_IN_LINE_H_

#include <vector>

#include "graph/schedule/local_program.h"

namespace partita {

// By launch: whether it is a collective between two launches that compute, of which the one before makes what it sends
// and the one behind reads what it brings. On the stream of these two it needs no other thread: who computes meets the
// other ranks itself, where otherwise one thread had to be woken for the collective and another one behind it.
std::vector<bool> RunsInLine(const LocalProgram& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_IN_LINE_H_
