// The graphs that a model's entries have (ModelEntry): the same nodes in other sizes, or what their results need.
#ifndef PARTITA_GRAPH_READ_MODEL_ENTRIES_H_
#define PARTITA_GRAPH_READ_MODEL_ENTRIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/read/graph_assembler.h"

namespace partita {

// Losses and metrics of the graph that is trained, by name.
struct ResultDescription {
  std::string loss;
  std::vector<std::string> metrics;
  std::vector<FurtherLossDescription> further_losses;
};

// Makes the graphs of a model whose entries have names, sizes and results. What only results of entries need is no part
// of the graph that is trained, inputs among it. kInvalidArgument names the entry, and the node where one is to blame:
//   - more than 64 of them; a name that another entry has, that the compiler gives, or that has a '/'
//   - sizes and results in one entry, or neither; sizes of what is no input, of another rank, or larger than in the
//     graph, whose own are the largest; a node that they do not fit, for instance a reshape to sizes of its own
//   - results that are not values or share a name; a parameter or a state that training does not have; an unused node
//     that reads a value of an entry alone
absl::Status BuildGraphs(const std::vector<NodeDescription>& nodes, const ResultDescription& results,
                         const OpRegistry& registry, Model& model);

// The same of a model that has its graph: adds entries to it, and `nodes` that it has not yet and that they need.
absl::Status AddEntries(std::vector<ModelEntry> entries, std::vector<NodeDescription> nodes, const OpRegistry& registry,
                        Model& model);

// The reverse: the nodes of all graphs, once each, and what is trained.
std::vector<NodeDescription> DescribeNodes(const Model& model);
ResultDescription DescribeResults(const Graph& graph);

// The same model for another batch: that of its graph and of all entries.
absl::StatusOr<Model> WithBatch(const Model& model, int64_t batch, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_MODEL_ENTRIES_H_
