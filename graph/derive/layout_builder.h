// Appends nodes to a partitioned graph: chooses their layouts, brings their inputs there by moves, and shares moves.
//
// The one way by which partition, adjoint and optimizer write a graph, so that forward and backward obey the same
// tables.
#ifndef PARTITA_GRAPH_DERIVE_LAYOUT_BUILDER_H_
#define PARTITA_GRAPH_DERIVE_LAYOUT_BUILDER_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"

namespace partita {

// A parameter or state that is placed by its first consumer: its source node, and what is fixed beforehand.
struct FreeSource {
  std::string name;
  const OpDefinition* op = nullptr;
  Attributes attributes;
  TensorType type;
  int mesh = -1;                                 // -1: that of the consumer
  std::vector<std::optional<AxisLayout>> fixed;  // per axis of the mesh; empty: none
};

struct NodeRequest {
  std::string op;
  std::vector<ValueId> inputs;          // kNoValue: absent, or free (then `free` has an entry)
  std::vector<const FreeSource*> free;  // per input, or empty
  Attributes attributes;
  std::vector<std::string> names;  // of the outputs; must be unique
  Phase phase = Phase::kForward;
  NodeConfig config;
  bool keep_lead = true;  // ChooseLayouts
  // Not kNoValue: the first input is absent, but the layout is chosen as if it was a cotangent of this value.
  ValueId like = kNoValue;
};

class LayoutBuilder {
 public:
  // Both must outlive the builder. Moves that the graph has already are shared like those that the builder appends.
  LayoutBuilder(Graph& graph, const OpRegistry& registry);

  Graph& graph() { return graph_; }
  const OpRegistry& registry() const { return registry_; }

  // What is appended from now on belongs to this micro-batch (Node::micro_batch).
  void SetMicroBatch(int32_t micro_batch) { micro_batch_ = micro_batch; }
  int32_t micro_batch() const { return micro_batch_; }

  // Appends the node and the moves that it needs; returns its outputs. It lies on the mesh that its config says, else
  // on that of its first activation input. A free input is placed as the node wants it; its value is found by
  // graph().Find(name) afterwards.
  absl::StatusOr<std::vector<ValueId>> Add(const NodeRequest& request);

  // Appends a node without inputs, at a given layout.
  absl::StatusOr<ValueId> AddSource(const OpDefinition& op, Attributes attributes, const std::string& name,
                                    Layout layout, Phase phase);

  // The value brought to `layout`, on whatever mesh: itself, an earlier move's result, or new moves.
  ValueId MoveTo(ValueId value, const Layout& layout, Phase phase);

  // Appends one move node over `axes`.
  ValueId AddMove(MoveKind kind, const std::vector<int>& axes, ValueId value, const Layout& layout, Phase phase);

 private:
  int MeshOf(const NodeRequest& request, const OpDefinition& op) const;
  Layout LayoutOf(const FreeSource& source, const Layout& wanted) const;
  ValueId Place(const FreeSource& source, const Layout& wanted);
  ValueId Bring(ValueId value, const Layout& wanted, const NodeRequest& request);
  ValueId Resolved(ValueId value) const;
  // To the mesh of `layout`, and there as near to it as a reshard can lead.
  ValueId ToMeshOf(const Layout& layout, ValueId value, Phase phase);

  Graph& graph_;
  const OpRegistry& registry_;
  int32_t micro_batch_ = -1;
  std::unordered_map<ValueId, std::vector<ValueId>> moved_;  // the results of moves of a value
  std::unordered_map<ValueId, ValueId> resolved_;            // P values that all later consumers read as R
};

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_LAYOUT_BUILDER_H_
