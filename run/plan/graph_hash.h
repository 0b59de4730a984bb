// A hash that identifies a graph.
#ifndef PARTITA_RUN_PLAN_GRAPH_HASH_H_
#define PARTITA_RUN_PLAN_GRAPH_HASH_H_

#include <string>

#include "graph/ir/model.h"

namespace partita {

// XXH3-128 in hexadecimal of the content of a graph file, including optimizer and learning rate, independent of its
// format; for a model as ReadModel returns it, before a run sets the length of its schedule.
std::string GraphHash(const Model& model);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_GRAPH_HASH_H_
