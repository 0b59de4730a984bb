// Says of every exchange of boxes (send, gather, scatter, repartition) in which mode it is made.
//
//   before   %b = repartition(%a) axes=stage,data
//   after    %b = repartition(%a) axes=stage,data mode=chain chunks=8
//
// Only where it is not the direct one, which is meant where nothing is said (graph/moves/plan_exchange.h).
#ifndef PARTITA_GRAPH_PASSES_CHOOSE_EXCHANGES_H_
#define PARTITA_GRAPH_PASSES_CHOOSE_EXCHANGES_H_

#include <optional>

#include "graph/ir/graph.h"
#include "graph/moves/exchange_cost.h"

namespace partita {

// `only`: in this mode wherever a tile has several receivers; nullopt: in the quickest one by `link`. Gives the same
// graph back, uncopied, where all is direct.
Graph ChooseExchanges(Graph graph, const LinkCost& link, std::optional<ExchangeMode> only);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_CHOOSE_EXCHANGES_H_
