// Builds a changed copy of a graph: passes never edit a graph in place, so that the order of nodes is always right.
#ifndef PARTITA_GRAPH_IR_REWRITER_H_
#define PARTITA_GRAPH_IR_REWRITER_H_

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

class Rewriter {
 public:
  explicit Rewriter(const Graph& from) : from_(from), graph_(from.meshes()), value_(from.values().size(), kNoValue) {
    graph_.Reserve(from.nodes().size(), from.values().size());
  }

  const Graph& from() const { return from_; }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  // The copy's value for one of the original (kNoValue: not copied yet, or dropped).
  ValueId At(ValueId original) const { return original == kNoValue ? kNoValue : value_[original]; }
  void Map(ValueId original, ValueId copy) { value_[original] = copy; }

  // Copies a node; its inputs must be mapped. Returns its id in the copy.
  NodeId Copy(NodeId original);
  // The outputs of a node as the original has them, for a node that replaces it.
  std::vector<Value> Outputs(NodeId original) const;
  // Appends a node in place of an original one: with its outputs' names, types and layouts, which are mapped to the new
  // ones.
  NodeId Replace(NodeId original, Node node);

  // Copies the states and the values that the host reads, without states whose value was dropped, and returns the copy.
  Graph Finish();

 private:
  const Graph& from_;
  Graph graph_;
  std::vector<ValueId> value_;
};

// How many nodes read each value, plus one for every result and state update.
std::vector<int> CountReaders(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_REWRITER_H_
