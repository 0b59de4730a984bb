// Converts the answer of a search to a strategy: for every node of the user's graph, over every axis, a split,
// `replicate` or `at`. Parameters follow their readers.
#ifndef PARTITA_PARTITIONER_TABLES_FOUND_STRATEGY_H_
#define PARTITA_PARTITIONER_TABLES_FOUND_STRATEGY_H_

#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "partitioner/tables/choice.h"
#include "partitioner/tables/layers.h"

namespace partita {

// `choices`: by layer and then by shared parameter, over the axes of `mesh`.
Strategy StrategyOfChoices(const Graph& forward, const LayerGraph& layers, const Mesh& mesh,
                           const std::vector<Choice>& choices);

// Mesh `data:N AXIS:M`: samples over data, each layer whole on the rank of AXIS that `ranks` says.
Strategy StrategyOfRanks(const Graph& forward, const LayerGraph& layers, int data, const std::string& axis, int size,
                         const std::vector<int>& ranks);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_FOUND_STRATEGY_H_
