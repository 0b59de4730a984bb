// A hash that identifies a graph.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_

#include <string>

#include "graph/ir/model.h"

namespace partita {

// XXH3-128 in hexadecimal of all that a graph file says, optimizer and learning rate included, in whatever form it was
// written; of a model as ReadModel gives it, before a run gives its schedule a length.
std::string GraphHash(const Model& model);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_GRAPH_HASH_H_
