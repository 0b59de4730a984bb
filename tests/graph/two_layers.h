// A small model for tests of strategies and passes, and what a strategy makes of it.
#ifndef PARTITA_TESTS_GRAPH_TWO_LAYERS_H_
#define PARTITA_TESTS_GRAPH_TWO_LAYERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/make_program.h"

namespace partita {

// x [8,6] -> h = x w [8,5] -> a = relu -> z = a v [8,3] -> l, the cross entropy with labels t.
Model TwoLayers();

// The training graph, without buckets, nothing joined, checked after each pass.
absl::StatusOr<Graph> TrainTwoLayers(const Strategy& strategy);

// "{data:S0 model:R}"
std::string LayoutOf(const Graph& graph, const std::string& value);

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_TWO_LAYERS_H_
