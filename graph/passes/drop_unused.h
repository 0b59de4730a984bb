// Removes nodes that no result, no state update and no other kept node needs.
//
//   before   %a = relu(%x)   %b = relu(%x)   loss %b
//   after    %b = relu(%x)   loss %b
//
// States stay, and inputs unless `keep_inputs` is false.
#ifndef PARTITA_GRAPH_PASSES_DROP_UNUSED_H_
#define PARTITA_GRAPH_PASSES_DROP_UNUSED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace partita {

Graph DropUnused(const Graph& graph, bool keep_inputs = true);

// Removes the losses of training alone, and what only they need, inputs among it. A graph without such losses stays as
// it is.
Graph DropTrainingOnly(Graph graph);

// The forward graph with these values as its results, and what they need. kInvalidArgument: a name is of no value.
absl::StatusOr<Graph> OnlyResults(Graph graph, const std::vector<std::string>& names);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_DROP_UNUSED_H_
