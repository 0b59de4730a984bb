#include "graph/passes/fuse_moves.h"

#include <optional>

#include "graph/ir/group_key.h"
#include "graph/ir/rewriter.h"
#include "graph/moves/plan_move.h"

namespace partita {
namespace {

// What one slice is joined with.
struct Joined {
  NodeId reduce;
  NodeId reshape;   // between the two; -1: none
  Layout summands;  // of what the reduce_scatter reads
};

class MoveFuser {
 public:
  MoveFuser(const Graph& graph, const OpRegistry& registry, InputGradients input_gradients)
      : graph_(graph),
        registry_(registry),
        input_gradients_(input_gradients),
        readers_(CountReaders(graph)),
        joined_(graph.nodes().size()),
        reader_(graph.nodes().size(), -1) {}

  bool Find() {
    bool any = false;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (graph_.node(id).op->move != MoveKind::kSlice) continue;
      joined_[id] = Join(id);
      if (!joined_[id]) continue;
      any = true;
      reader_[joined_[id]->reduce] = id;
      if (joined_[id]->reshape >= 0) reader_[joined_[id]->reshape] = id;
    }
    return any;
  }

  Graph Rewrite() const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (joined_[id]) {
        Node node = graph_.node(id);
        node.op = &registry_.Get(MoveKind::kReduceScatter);
        node.inputs = {rewriter.At(node.inputs[0])};
        rewriter.Replace(id, std::move(node));
      } else if (reader_[id] < 0) {
        rewriter.Copy(id);
      } else if (graph_.node(id).op->move == MoveKind::kAllReduce) {
        rewriter.Map(graph_.node(id).outputs[0], rewriter.At(graph_.node(id).inputs[0]));
      } else {
        ReshapeSummands(id, joined_[reader_[id]]->summands, rewriter);
      }
    }
    return rewriter.Finish();
  }

 private:
  std::optional<Joined> Join(NodeId slice_id) const {
    const Node& slice = graph_.node(slice_id);
    Joined joined{ProducerOf(slice), -1, {}};
    if (input_gradients_ == InputGradients::kReduceScatter && joined.reduce >= 0 &&
        graph_.node(joined.reduce).op->view) {
      joined.reshape = joined.reduce;
      joined.reduce = ProducerOf(graph_.node(joined.reshape));
    }
    if (joined.reduce < 0) return std::nullopt;
    const Node& reduce = graph_.node(joined.reduce);
    if (reduce.op->move != MoveKind::kAllReduce || reduce.inputs.size() != 1) return std::nullopt;
    joined.summands = graph_.layout(slice.inputs[0]);
    for (size_t a = 0; a < joined.summands.size(); ++a) {
      const AxisLayout& before = graph_.layout(reduce.inputs[0])[a];
      if (before.partial() && !graph_.layout(reduce.outputs[0])[a].partial()) joined.summands[a] = before;
    }
    if (!IsReduceScatter(joined.summands, slice)) return std::nullopt;
    return joined;
  }

  // Who makes what `node` alone reads; -1: others read it too.
  NodeId ProducerOf(const Node& node) const {
    return readers_[node.inputs[0]] == 1 ? graph_.value(node.inputs[0]).producer : -1;
  }

  // One move takes the summands to the slices: no inner split of the dimension is in the way.
  bool IsReduceScatter(const Layout& summands, const Node& slice) const {
    const ValueId output = slice.outputs[0];
    const std::vector<MoveStep> steps =
        PlanMove(summands, graph_.layout(output), graph_.type(output).shape, graph_.mesh(output));
    return steps.size() == 1 && steps[0].kind == MoveKind::kReduceScatter;
  }

  void ReshapeSummands(NodeId id, const Layout& summands, Rewriter& rewriter) const {
    Node node = graph_.node(id);
    node.inputs = {rewriter.At(node.inputs[0])};
    std::vector<Value> outputs = rewriter.Outputs(id);
    outputs[0].layout = summands;
    const NodeId copy = rewriter.graph().AddNode(std::move(node), outputs);
    rewriter.Map(graph_.node(id).outputs[0], rewriter.graph().node(copy).outputs[0]);
  }

  const Graph& graph_;
  const OpRegistry& registry_;
  const InputGradients input_gradients_;
  const std::vector<int> readers_;
  std::vector<std::optional<Joined>> joined_;  // by slice
  std::vector<NodeId> reader_;                 // the slice with which an all_reduce or a reshape is joined; -1: none
};

}  // namespace

Graph FuseMoves(Graph graph, const OpRegistry& registry, InputGradients input_gradients) {
  MoveFuser fuser(graph, registry, input_gradients);
  if (!fuser.Find()) return graph;
  return fuser.Rewrite();
}

}  // namespace partita
