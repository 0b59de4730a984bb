// The layers of a model, as searches see them: an op with what follows it element by element, so that all of a layer is
// split alike.
//
//   conv1 ─ bias1 ─ relu1   │   pool1   │   conv2 ─ bn2 (statistics, normalize, running) ─ relu2   │   dense ─ bias
#ifndef PARTITA_PARTITIONER_TABLES_LAYERS_H_
#define PARTITA_PARTITIONER_TABLES_LAYERS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

struct OpLayer {
  std::string name;            // of its first node
  std::vector<NodeId> nodes;   // rising
  std::vector<ValueId> reads;  // of other layers, each once; shared parameters, too
  std::vector<ValueId> makes;  // that other layers read, or that is a loss
};

// A value that one layer makes and another reads: the which-th of its `makes` and of the other's `reads`.
struct LayerEdge {
  int from = 0, to = 0;
  int made = 0, read = 0;
  ValueId value = kNoValue;
};

struct LayerGraph {
  Graph graph;                               // what training computes forward, as it is before it is partitioned
  std::vector<OpLayer> layers;               // in the order of their first nodes
  std::vector<LayerEdge> edges;              // by the layer that reads, by its reads
  std::vector<ValueId> shared;               // parameters that several layers read
  std::vector<std::vector<Rule>> splits;     // by node: SplitsOf, which each choice of a layer asks for
  std::vector<int> layer_of_node;            // -1: states and constants, which lie as their readers want
  std::vector<bool> wanted;                  // by value: its gradient is, for a parameter lies above it
  std::map<std::string, int> layer_of_name;  // of the user's nodes

  const Node& lead(const OpLayer& layer) const { return graph.node(layer.nodes[0]); }
};

// Of the user's forward graph. A node joins the latest layer that it reads of if it can be split in all the ways in
// which that layer's first node can, and is no product; what stands for one node of the user is in one layer.
absl::StatusOr<LayerGraph> FindLayers(const Graph& forward, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_LAYERS_H_
