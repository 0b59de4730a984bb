// Makes a checked forward graph from described nodes: the one way in for graphs from files and from the builder.
#ifndef PARTITA_GRAPH_READ_GRAPH_ASSEMBLER_H_
#define PARTITA_GRAPH_READ_GRAPH_ASSEMBLER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"
#include "graph/read/node_order.h"

namespace partita {

// The op of that name that users' graphs may have. kInvalidArgument names what was meant, or all ops there are.
absl::StatusOr<const OpDefinition*> FindUserOp(const OpRegistry& registry, const std::string& name);

// FurtherLoss, as a user wrote it.
struct FurtherLossDescription {
  std::string value;  // the name of a node
  double weight = 1;
  bool training_only = false;
};

// Adds nodes one at a time; each may read only those before it. Thread-compatible.
class GraphAssembler {
 public:
  // `registry` must outlive the assembler and the graph.
  explicit GraphAssembler(const OpRegistry& registry) : registry_(registry) {}

  // Checks names, op, attributes, inputs and their types, and appends the node. An error names the node and leaves the
  // graph as it was.
  absl::StatusOr<ValueId> Add(const NodeDescription& node);

  const Graph& graph() const { return graph_; }

  // The graph with its losses and metrics (names of values), verified as a whole (graph/read/verify_model.h).
  absl::StatusOr<Graph> Finish(const std::string& loss, const std::vector<std::string>& metrics,
                               const std::vector<FurtherLossDescription>& further_losses = {});

 private:
  absl::StatusOr<Node> Resolve(const NodeDescription& node) const;

  const OpRegistry& registry_;
  Graph graph_;
};

// The graph of nodes given in any order. Every error says which node, what was found and what is allowed.
absl::StatusOr<Graph> BuildGraph(const std::vector<NodeDescription>& nodes, const std::string& loss,
                                 const std::vector<std::string>& metrics, const OpRegistry& registry,
                                 const std::vector<FurtherLossDescription>& further_losses = {});

// The reverse of BuildGraph: the nodes of a forward graph, without the attributes that are the op's defaults.
std::vector<NodeDescription> Describe(const Graph& graph);
std::vector<FurtherLossDescription> DescribeFurtherLosses(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_GRAPH_ASSEMBLER_H_
