// Checks of a forward graph as a whole, and of how it is trained. What one node alone can get wrong is refused when it
// is added (graph/read/graph_assembler.h).
#ifndef PARTITA_GRAPH_READ_VERIFY_MODEL_H_
#define PARTITA_GRAPH_READ_VERIFY_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// A graph that can be trained:
//   - each input has a field of its own
//   - losses are computed scalars of a floating type, weights of further ones are finite and not 0, the metrics are
//     scalars, each named once
//   - every parameter reaches a loss on a way along which gradients flow
//   - what a node updates (running statistics) are states, each updated by one node
// kInvalidArgument names the node. Linear; no recursion.
absl::Status VerifyForward(const Graph& graph);
// The first of these alone, also of a graph that only computes.
absl::Status VerifyFields(const Graph& graph);

// Patterns of the optimizer that match nothing of the graph ("did you mean").
absl::Status VerifyPatterns(const Graph& graph, const Optimizer& optimizer);

// All of it, the optimizer included (graph/optimizer/optimizer.h).
absl::Status VerifyModel(const Model& model, const OpRegistry& registry);

// The names of parameters from which no way that gradients flow along leads to that value.
std::vector<std::string> ParametersWithoutGradient(const Graph& graph, ValueId loss);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_VERIFY_MODEL_H_
