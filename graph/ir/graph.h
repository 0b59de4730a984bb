// A dataflow graph: nodes in topological order, the values they make, and the states they read and write.
//
// One type serves the user's forward graph (a mesh without axes, empty layouts) and the partitioned program (global
// shapes, a layout for every value, on one of the graph's meshes). Nodes only read values of earlier nodes; passes
// build a new graph instead of reordering one. Not thread-safe; many threads may read a const Graph.
#ifndef PARTITA_GRAPH_IR_GRAPH_H_
#define PARTITA_GRAPH_IR_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/attributes.h"
#include "graph/value/dtype.h"
#include "graph/value/layout.h"
#include "graph/value/mesh.h"
#include "graph/value/name_index.h"
#include "graph/value/shape.h"

namespace partita {

struct OpDefinition;

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;

// The type of a value: element type and shape.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

struct Value {
  std::string name;  // unique; generated names carry '@', which user names may not
  TensorType type;
  Layout layout;
  NodeId producer = -1;
};

// Which part of the step a node belongs to.
enum class Phase : uint8_t { kForward, kBackward, kUpdate };
const char* Name(Phase phase);

struct Node {
  const OpDefinition* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> inputs;  // kNoValue: an absent optional input
  std::vector<ValueId> outputs;
  Phase phase = Phase::kForward;
  int32_t micro_batch = -1;  // the micro-batch that it computes; -1: no single one
};

// A named value that outlives a step (docs/design.md 3). `value` is the output of a `parameter` or `state` node;
// `update` is the value that becomes the new state at the end of the step (kNoValue: it never changes in this graph).
// The planner puts both in the same place.
struct State {
  ValueId value = kNoValue;
  ValueId update = kNoValue;
  ValueId gradient = kNoValue;  // gradient of the loss, as the state's update reads it; kNoValue: none
};

// A scalar that training minimises in addition to the loss.
struct FurtherLoss {
  ValueId value = kNoValue;
  double weight = 1;           // its weight in the minimised sum, where the loss has weight 1
  bool training_only = false;  // evaluation skips it
};

// The votes by which a step decides whether it is the last one (graph/derive/count_votes.h).
struct Votes {
  ValueId cast = kNoValue;  // an input, P over axes: each rank's vote, 1 to stop and 0 to continue
  ValueId sum = kNoValue;   // how many ranks want to stop, whole on every rank

  bool counted() const { return sum != kNoValue; }
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(Mesh mesh) : meshes_{std::move(mesh)} {}
  // At least one; each mesh's id is its index in the list (CHECKed).
  explicit Graph(std::vector<Mesh> meshes);

  const std::vector<Mesh>& meshes() const { return meshes_; }
  const Mesh& mesh() const { return meshes_[0]; }  // the one that has all ranks
  const Mesh& mesh(const Layout& layout) const { return meshes_[layout.mesh]; }
  const Mesh& mesh(ValueId id) const { return mesh(values_[id].layout); }
  int ranks() const { return mesh().size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<State>& states() const { return states_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const TensorType& type(ValueId id) const { return values_[id].type; }
  const Layout& layout(ValueId id) const { return values_[id].layout; }

  // The name of a node is that of its first output.
  const std::string& name(NodeId id) const { return values_[nodes_[id].outputs[0]].name; }
  // kNoValue if there is none.
  ValueId Find(std::string_view value_name) const;

  // Reserves memory for nodes and values, for passes that know how many they will add.
  void Reserve(size_t nodes, size_t values);

  // Appends a node; its outputs must be added with it: names (unique; CHECKed), types and layouts.
  NodeId AddNode(Node node, std::vector<Value> outputs);
  void AddState(State state);
  void SetUpdate(ValueId state_value, ValueId update);
  void SetGradient(ValueId state_value, ValueId gradient);
  void SetLayout(ValueId value, Layout layout) { values_[value].layout = std::move(layout); }

  // `base` if it is free, else base@2, base@3, ... (docs/design.md 5.16)
  std::string UniqueName(const std::string& base) const;

  // The scalar that training minimises, further minimised scalars, and further reported scalars. All are values of this
  // graph; without a loss there are no further ones.
  ValueId loss = kNoValue;
  std::vector<FurtherLoss> further_losses;
  std::vector<ValueId> metrics;
  // In a training graph: i32[], 0 if this step leaves all states unchanged (docs/design.md 5.24). On every rank.
  ValueId apply = kNoValue;
  Votes votes;  // if ranks live in several processes

 private:
  State& StateOf(ValueId state_value);

  std::vector<Mesh> meshes_ = {Mesh()};
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<State> states_;
  std::unordered_map<ValueId, size_t> state_of_;  // position in states_ by the state's value
  NameIndex by_name_;
  mutable std::unordered_map<std::string, int> next_suffix_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GRAPH_H_
