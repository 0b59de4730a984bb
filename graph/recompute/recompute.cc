#include "graph/recompute/recompute.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "graph/derive/recomputed_blocks.h"
#include "graph/ir/entry_point.h"
#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/rewriter.h"

namespace partita {
namespace {

constexpr int kNoBlock = -1;
constexpr int kNobody = -2;  // reads a value

// What a rank gets that did not have it, of an At or of another mesh.
bool ComesFromElsewhere(const Graph& graph, const Node& node) {
  if (!node.op->move || StaysOnRanks(*node.op->move)) return false;
  const Layout &from = graph.layout(node.inputs[0]), &to = graph.layout(node.outputs[0]);
  if (from.mesh != to.mesh) return true;
  for (size_t a = 0; a < from.size(); ++a) {
    if ((from[a].at() || to[a].at()) && from[a] != to[a]) return true;
  }
  return false;
}

class Recomputation {
 public:
  Recomputation(const Graph& graph, const std::vector<RecomputedBlock>& blocks)
      : graph_(graph),
        blocks_(blocks),
        block_(graph.nodes().size(), kNoBlock),
        readers_(graph.values().size(), kNobody),
        again_(graph.values().size(), false),
        copy_(graph.values().size(), kNoValue) {}

  // Whether anything is computed again.
  bool Find() {
    AssignBlocks();
    for (auto id = static_cast<NodeId>(graph_.nodes().size()); id-- > 0;) {
      const Node& node = graph_.node(id);
      const bool recomputed = IsRecomputed(node);
      if (recomputed) nodes_[static_cast<size_t>(block_[id])].push_back(id);
      if (!recomputed && node.phase != Phase::kBackward) continue;
      for (const ValueId input : node.inputs) {
        if (input != kNoValue && IsDropped(input)) again_[input] = true;
      }
    }
    return std::ranges::any_of(nodes_, [](const std::vector<NodeId>& nodes) { return !nodes.empty(); });
  }

  Graph Rewrite() {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (graph_.node(id).phase != Phase::kBackward) {
        rewriter.Copy(id);
        continue;
      }
      for (const ValueId input : graph_.node(id).inputs) {
        if (input != kNoValue && again_[input]) ComputeAgain(BlockOf(input), id, rewriter);
      }
      rewriter.Replace(id, WithCopies(id, rewriter));
    }
    return rewriter.Finish();
  }

 private:
  int BlockOf(ValueId value) const { return block_[graph_.value(value).producer]; }

  // Readers come after what they read, so from behind all readers of a move are known before it.
  void AssignBlocks() {
    for (const ValueId value : ReadByHost(graph_)) readers_[value] = kNoBlock;
    for (const State& state : graph_.states()) {
      if (state.update != kNoValue) readers_[state.update] = kNoBlock;
    }
    for (auto id = static_cast<NodeId>(graph_.nodes().size()); id-- > 0;) {
      const Node& node = graph_.node(id);
      if (node.phase == Phase::kBackward) continue;
      block_[id] = Assigned(id);
      for (const ValueId input : node.inputs) {
        if (input == kNoValue) continue;
        int& readers = readers_[input];
        readers = readers == kNobody || readers == block_[id] ? block_[id] : kNoBlock;
      }
    }
  }

  int Assigned(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.phase != Phase::kForward || node.inputs.empty() || GateOf(*node.op) >= 0) return kNoBlock;
    const bool of_readers = node.op->move && !AddsPartials(*node.op->move) && !ComesFromElsewhere(graph_, node);
    if (of_readers && readers_[node.outputs[0]] != kNobody) return readers_[node.outputs[0]];
    const int block = blocks_.BlockOf(UserNameOf(graph_.name(id)));
    if (block < 0) return kNoBlock;
    const auto [place, fresh] = places_.emplace(std::pair{block, node.micro_batch}, static_cast<int>(nodes_.size()));
    if (fresh) nodes_.emplace_back();
    return place->second;
  }

  // Whether nobody outside of its block reads it, so that it is not kept.
  bool IsDropped(ValueId value) const {
    const int block = BlockOf(value);
    if (block < 0 || (readers_[value] != kNobody && readers_[value] != block)) return false;
    return !ComesFromElsewhere(graph_, graph_.node(graph_.value(value).producer));
  }

  bool IsRecomputed(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId output) { return again_[output]; });
  }

  // What stands before node `until` of those of the block that are needed; `nodes_` has the last one first.
  void ComputeAgain(int block, NodeId until, Rewriter& rewriter) {
    std::vector<NodeId>& nodes = nodes_[static_cast<size_t>(block)];
    while (!nodes.empty() && nodes.back() < until) {
      const NodeId id = nodes.back();
      nodes.pop_back();
      Node node = WithCopies(id, rewriter);
      node.phase = Phase::kBackward;
      std::vector<Value> outputs = rewriter.Outputs(id);
      for (Value& output : outputs) output.name += kAgain;
      const NodeId copy = rewriter.graph().AddNode(std::move(node), std::move(outputs));
      const std::vector<ValueId>& originals = graph_.node(id).outputs;
      for (size_t o = 0; o < originals.size(); ++o) copy_[originals[o]] = rewriter.graph().node(copy).outputs[o];
    }
  }

  // The node as it reads what is computed again.
  Node WithCopies(NodeId id, const Rewriter& rewriter) const {
    Node node = graph_.node(id);
    for (ValueId& input : node.inputs) {
      if (input != kNoValue) input = again_[input] ? copy_[input] : rewriter.At(input);
    }
    return node;
  }

  const Graph& graph_;
  const RecomputedBlocks blocks_;
  std::map<std::pair<int, int32_t>, int> places_;  // of a block and a micro-batch
  std::vector<int> block_;                         // by node: the place of its block, or kNoBlock
  std::vector<int> readers_;                       // by value: the block of all forward readers, kNoBlock or kNobody
  std::vector<std::vector<NodeId>> nodes_;         // by block: what is still to be computed again, the last one first
  std::vector<bool> again_;                        // by value
  std::vector<ValueId> copy_;                      // by value of the graph: in the copy, what is computed again
};

}  // namespace

Graph Recompute(Graph graph, const std::vector<RecomputedBlock>& blocks) {
  Recomputation recomputation(graph, blocks);
  if (!recomputation.Find()) return graph;
  return recomputation.Rewrite();
}

}  // namespace partita
