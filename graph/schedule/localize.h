// One rank's share of a partitioned graph: what it holds of every value, and which nodes it runs.
//
// Pure, linear in the graph. Any holder of the graph can compute any rank's share.
#ifndef PARTITA_GRAPH_SCHEDULE_LOCALIZE_H_
#define PARTITA_GRAPH_SCHEDULE_LOCALIZE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/kernel_catalogue.h"

namespace partita {

struct LocalGraph {
  // By ValueId. nullopt: the value lies on other ranks (its At or its mesh). An empty box: this rank's block has no
  // elements.
  std::vector<std::optional<LocalTensor>> values;

  bool Holds(ValueId value) const { return values[value] && !values[value]->box.empty(); }
};

LocalGraph Localize(const Graph& graph, int rank);

// The same for one value. Where other ranks keep the value, the box has size 0 in every dimension; a scalar's box has
// no dimensions, so for it the difference cannot be seen.
LocalTensor LocalTensorOf(const Graph& graph, ValueId value, int rank);

// A rank runs a computing node if it holds any element of any output. (An input may be empty: a partial sum over no
// samples is zero, and a rank must write the zeros.)
bool Runs(const LocalGraph& local, const Node& node);

// The rank's share of a computing node that it runs. kInternal if the layouts of its values contradict each other: the
// rank holds an output but an input or another output lies elsewhere.
absl::StatusOr<LocalNode> MakeLocalNode(const Graph& graph, const LocalGraph& local, NodeId node);

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_LOCALIZE_H_
