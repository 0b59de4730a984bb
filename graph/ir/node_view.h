// A node of a graph as its op sees it.
#ifndef PARTITA_GRAPH_IR_NODE_VIEW_H_
#define PARTITA_GRAPH_IR_NODE_VIEW_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

// With the types of its outputs. It points into `graph` and `node` and holds until either changes.
NodeView ViewOf(const Graph& graph, const Node& node);

// Whether it is what a state holds (of a parameter, which is trained, it is not).
bool IsState(const Graph& graph, ValueId value);

// The types of the outputs by the op's definition. What `node.outputs` says is not looked at, so that a node may be
// asked that is not yet in the graph; its attributes are complete and its inputs are values of `graph`.
absl::StatusOr<std::vector<TensorType>> InferTypes(const Graph& graph, const Node& node);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_NODE_VIEW_H_
