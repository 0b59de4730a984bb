#include "graph/verify/verify_graph.h"

#include <algorithm>
#include <map>

#include "graph/ir/entry_point.h"
#include "graph/ir/gate.h"
#include "graph/ir/group_key.h"
#include "graph/ir/node_view.h"
#include "graph/verify/verify_operands.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Kind = AxisLayout::Kind;

// What a move takes over its axes, and what it gives (docs/derivation.md 2).
struct Ends {
  std::vector<Kind> from, to;
};

// nullptr: a move that leads from more than one kind to more than one (repartition, zero_extend, halos).
const Ends* EndsOf(MoveKind move) {
  constexpr Kind kR = Kind::kReplicate, kS = Kind::kSplit, kP = Kind::kPartial, kAt = Kind::kAt;
  static const auto& ends = *new std::map<MoveKind, Ends>{
      {MoveKind::kAllReduce, {{kP}, {kR}}},     {MoveKind::kAllGather, {{kS}, {kR}}},
      {MoveKind::kReduceScatter, {{kP}, {kS}}}, {MoveKind::kBroadcast, {{kAt}, {kR}}},
      {MoveKind::kSumReduce, {{kP}, {kAt}}},    {MoveKind::kSend, {{kAt}, {kAt}}},
      {MoveKind::kGather, {{kS}, {kAt}}},       {MoveKind::kScatter, {{kAt}, {kS}}},
      {MoveKind::kSlice, {{kR}, {kS}}},         {MoveKind::kDrop, {{kR}, {kAt}}},
  };
  const auto found = ends.find(move);
  return found == ends.end() ? nullptr : &found->second;
}

bool Contains(const std::vector<Kind>& kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph) {}

  absl::Status Run() const {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const absl::Status status = CheckNode(id);
      if (!status.ok()) return Internal("node '{}': {}", graph_.name(id), std::string(status.message()));
    }
    RETURN_IF_ERROR(CheckApply());
    for (const State& state : graph_.states()) RETURN_IF_ERROR(CheckState(state));
    for (const ValueId result : ReadByHost(graph_)) {
      if (!Exists(result)) return Internal("loss, metric or sum of votes {} is no value of the graph", result);
    }
    return CheckVotes();
  }

 private:
  bool Exists(ValueId value) const { return value >= 0 && value < static_cast<ValueId>(graph_.values().size()); }

  absl::Status CheckNode(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op == nullptr) return Internal("it has no op");
    for (ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      if (!Exists(input)) return Internal("it reads value {}, which does not exist", input);
      if (graph_.value(input).producer >= id) {
        return Internal("it reads '{}', which a later node makes", graph_.value(input).name);
      }
    }
    for (ValueId output : node.outputs) {
      if (graph_.value(output).producer != id) {
        return Internal("another node makes its output '{}'", graph_.value(output).name);
      }
    }
    RETURN_IF_ERROR(CheckCounts(node));
    RETURN_IF_ERROR(CheckTypes(node));
    for (ValueId output : node.outputs) {
      if (graph_.Find(graph_.value(output).name) != output) {
        return Internal("'{}' is the name of another value", graph_.value(output).name);
      }
      RETURN_IF_ERROR(CheckLayout(graph_.layout(output), graph_.type(output).shape, graph_.mesh(output)));
    }
    return node.op->move ? CheckMove(node) : CheckOperands(node);
  }

  absl::Status CheckCounts(const Node& node) const {
    const OpDefinition& op = *node.op;
    const bool inputs = op.variadic ? node.inputs.size() >= op.inputs.size() : node.inputs.size() == op.inputs.size();
    const size_t outputs = op.move ? node.inputs.size() : static_cast<size_t>(op.outputs);
    if (!inputs || node.outputs.size() != outputs) {
      return Internal("op '{}' does not have {} inputs and {} outputs", op.name, node.inputs.size(),
                      node.outputs.size());
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue && !op.inputs[std::min(i, op.inputs.size() - 1)].optional) {
        return Internal("input {} of op '{}' is absent", i, op.name);
      }
    }
    ASSIGN_OR_RETURN(const Attributes complete, CompleteAttributes(op, node.attributes));
    if (complete == node.attributes) return absl::OkStatus();
    return Internal("op '{}' has attributes that the node does not set", op.name);
  }

  absl::Status CheckTypes(const Node& node) const {
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(graph_, node));
    if (types.size() != node.outputs.size()) return Internal("op '{}' makes {} values", node.op->name, types.size());
    for (size_t o = 0; o < types.size(); ++o) {
      const TensorType& type = graph_.type(node.outputs[o]);
      if (types[o] == type) continue;
      return Internal("output {} is {}{}; its op makes {}{}", o, Name(type.dtype), ToString(type.shape),
                      Name(types[o].dtype), ToString(types[o].shape));
    }
    return absl::OkStatus();
  }

  absl::Status CheckMove(const Node& node) const {
    RETURN_IF_ERROR(CheckMeshes(node));
    if (node.op->move == MoveKind::kReshard) return CheckReshard(node);
    const std::vector<int> axes = MoveAxes(graph_, node);
    const Ends* ends = EndsOf(*node.op->move);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Layout& from = graph_.layout(node.inputs[i]);
      const Layout& to = graph_.layout(node.outputs[i]);
      for (size_t a = 0; a < to.size(); ++a) {
        const bool moves = std::find(axes.begin(), axes.end(), static_cast<int>(a)) != axes.end();
        if (moves ? Leads(node, ends, from[a], to[a]) : from[a] == to[a] && !InsideChange(from, to, a)) continue;
        return Internal("{} over '{}' does not lead from {} to {}", node.op->name, node.attributes.String("axes"),
                        ToString(from, graph_.mesh(from)), ToString(to, graph_.mesh(to)));
      }
    }
    return absl::OkStatus();
  }

  // Over an axis of the move. Blocks of windows are left behind only where they hold summands, which are added up.
  static bool Leads(const Node& move, const Ends* ends, const AxisLayout& from, const AxisLayout& to) {
    if (ends != nullptr && !(Contains(ends->from, from.kind) && Contains(ends->to, to.kind))) return false;
    const bool adds = move.op->move == MoveKind::kHaloAdjoint || move.op->move == MoveKind::kZeroExtend;
    return !from.windows || (from.summed() && adds);
  }

  // True if a split that the move leaves alone lies inside blocks that it changes: then it means other elements.
  static bool InsideChange(const Layout& from, const Layout& to, size_t axis) {
    if (!to[axis].split()) return false;
    const auto splits = [&](const AxisLayout& outer) { return outer.split() && outer.dimension == to[axis].dimension; };
    for (size_t outer = 0; outer < axis; ++outer) {
      if (from[outer] != to[outer] && (splits(from[outer]) || splits(to[outer]))) return true;
    }
    return false;
  }

  // All that a node reads and writes lies on one mesh; what a reshard reads and what it writes on two.
  absl::Status CheckMeshes(const Node& node) const {
    const int mesh = graph_.layout(node.outputs[0]).mesh;
    const bool reshards = node.op->move == MoveKind::kReshard;
    for (ValueId output : node.outputs) {
      if (graph_.layout(output).mesh != mesh) return Internal("its outputs lie on several meshes");
    }
    for (ValueId input : node.inputs) {
      if (input == kNoValue || (graph_.layout(input).mesh != mesh) == reshards) continue;
      return Internal("{} reads '{}' on mesh '{}' and writes on mesh '{}'", node.op->name, graph_.value(input).name,
                      graph_.mesh(input).ToString(), graph_.meshes()[mesh].ToString());
    }
    return absl::OkStatus();
  }

  absl::Status CheckReshard(const Node& node) const {
    for (ValueId value : {node.inputs[0], node.outputs[0]}) {
      for (const AxisLayout& axis : graph_.layout(value)) {
        if (!axis.partial() && !axis.windows) continue;
        return Internal("a reshard moves neither sums nor ghosts: '{}' is {}", graph_.value(value).name,
                        ToString(graph_.layout(value), graph_.mesh(value)));
      }
    }
    return absl::OkStatus();
  }

  // A source lies anywhere, but nobody has made summands or copies of neighbours' elements of it. Votes are summands as
  // they are cast.
  absl::Status CheckSource(const Node& node) const {
    for (ValueId output : node.outputs) {
      if (output == graph_.votes.cast) continue;
      for (const AxisLayout& axis : graph_.layout(output)) {
        if (!axis.partial() && !axis.windows) continue;
        return Internal("a {} holds neither sums nor ghosts: '{}' is {}", node.op->name, graph_.value(output).name,
                        ToString(graph_.layout(output), graph_.mesh(output)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOperands(const Node& node) const {
    if (graph_.mesh().axes.empty()) return absl::OkStatus();  // not partitioned
    if (node.inputs.empty()) return CheckSource(node);
    RETURN_IF_ERROR(CheckMeshes(node));
    return VerifyOperands(graph_, node);
  }

  absl::Status CheckVotes() const {
    const auto [cast, sum] = graph_.votes;
    if (cast == kNoValue && sum == kNoValue) return absl::OkStatus();
    if (!Exists(cast) || !Exists(sum) || graph_.node(graph_.value(cast).producer).op->role != Role::kInput) {
      return Internal("the votes {}, whose sum is {}, are no input of the graph", cast, sum);
    }
    for (const ValueId value : {cast, sum}) {
      if (Elements(graph_.type(value).shape) == 1 && IsFloating(graph_.type(value).dtype)) continue;
      return Internal("votes are one element of a floating type; '{}' is {}{}", graph_.value(value).name,
                      Name(graph_.type(value).dtype), ToString(graph_.type(value).shape));
    }
    if (graph_.layout(sum) == Replicated(graph_.mesh())) return absl::OkStatus();
    return Internal("the sum of votes '{}' is {}; all ranks must know it", graph_.value(sum).name,
                    ToString(graph_.layout(sum), graph_.mesh(sum)));
  }

  absl::Status CheckState(const State& state) const {
    if (!Exists(state.value)) return Internal("state {} is no value of the graph", state.value);
    const Value& value = graph_.value(state.value);
    const OpDefinition& op = *graph_.node(value.producer).op;
    if (!op.is_state()) return Internal("state '{}' is made by a {}", value.name, op.name);
    if (state.update == kNoValue) return absl::OkStatus();
    if (!Exists(state.update)) return Internal("the update {} of state '{}' is no value", state.update, value.name);
    const Value& update = graph_.value(state.update);
    if (update.type == value.type && update.layout == value.layout) return CheckGate(state);
    return Internal("state '{}' {} {} is updated by '{}' {} {}", value.name, ToString(value.type.shape),
                    ToString(value.layout, graph_.mesh(value.layout)), update.name, ToString(update.type.shape),
                    ToString(update.layout, graph_.mesh(update.layout)));
  }

  // What a state becomes is made by a node that knows whether the step is applied.
  absl::Status CheckGate(const State& state) const {
    if (graph_.apply == kNoValue) return absl::OkStatus();
    const NodeId id = graph_.value(BeforeMoves(graph_, state.update)).producer;
    const Node& node = graph_.node(id);
    const int gate = GateOf(*node.op);
    const ValueId read = gate < 0 ? kNoValue : node.inputs[gate];
    if (read != kNoValue && BeforeMoves(graph_, read) == graph_.apply) return absl::OkStatus();
    return Internal("state '{}' is updated by '{}', a {} that does not read whether the step is applied",
                    graph_.value(state.value).name, graph_.name(id), node.op->name);
  }

  absl::Status CheckApply() const {
    if (graph_.apply == kNoValue) return absl::OkStatus();
    if (!Exists(graph_.apply)) return Internal("apply {} is no value of the graph", graph_.apply);
    const Value& apply = graph_.value(graph_.apply);
    if (apply.type == TensorType{DType::kI32, {}} && apply.layout == Replicated(graph_.mesh())) return absl::OkStatus();
    return Internal("apply '{}' is {}{} {}; an i32[] on every rank is needed", apply.name, Name(apply.type.dtype),
                    ToString(apply.type.shape), ToString(apply.layout, graph_.mesh(apply.layout)));
  }

  const Graph& graph_;
};

}  // namespace

absl::Status VerifyGraph(const Graph& graph) { return GraphVerifier(graph).Run(); }

}  // namespace partita
