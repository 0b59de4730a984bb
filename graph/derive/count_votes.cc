#include "graph/derive/count_votes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/derive/layout_builder.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class VoteCounter {
 public:
  VoteCounter(const Graph& graph, const OpRegistry& registry)
      : graph_(graph),
        registry_(registry),
        dtype_(graph.loss == kNoValue ? DType::kF32 : graph.type(graph.loss).dtype),
        rewriter_(graph),
        layout_(Replicated(graph.mesh())) {
    for (size_t a = 0; a < graph.mesh().axes.size(); ++a) open_.insert(static_cast<int>(a));
  }

  absl::StatusOr<Graph> Run() {
    ChooseCarriers();
    std::erase_if(open_, [&](int axis) { return graph_.mesh().axes[axis].size == 1; });
    for (const int axis : open_) layout_[axis] = AxisLayout::Partial();
    RETURN_IF_ERROR(Cast());
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      carriers_.contains(id) ? Join(id) : void(rewriter_.Copy(id));
    }
    Graph graph = rewriter_.Finish();
    graph.votes = {cast_, vote_};
    return graph;
  }

 private:
  // Until nothing is left that could carry the vote over axes that no other does.
  void ChooseCarriers() {
    while (const std::optional<NodeId> widest = WidestCarrier()) {
      carriers_.insert(*widest);
      for (const int axis : MoveAxes(graph_, graph_.node(*widest))) {
        open_.erase(axis);
        layout_[axis] = AxisLayout::Partial();
      }
    }
  }

  // Of those as wide the last: what is reported is added up at the end.
  std::optional<NodeId> WidestCarrier() const {
    std::optional<NodeId> widest;
    int most = 1;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->move != MoveKind::kAllReduce || !AddsScalars(node)) continue;
      const std::vector<int> axes = MoveAxes(graph_, node);
      if (!std::ranges::includes(open_, axes)) continue;
      int ranks = 1;
      for (const int axis : axes) ranks *= graph_.mesh().axes[axis].size;
      if (ranks == 1 || ranks < most) continue;
      widest = id;
      most = ranks;
    }
    return widest;
  }

  // Sums of scalars of the vote's type, on all ranks.
  bool AddsScalars(const Node& all_reduce) const {
    return std::ranges::all_of(all_reduce.inputs, [&](ValueId value) {
      const Layout& layout = graph_.layout(value);
      const bool sums = std::ranges::none_of(layout, [](const AxisLayout& axis) {
        return axis.at() || (axis.partial() && axis.reduction != Reduction::kSum);
      });
      return layout.mesh == 0 && sums && graph_.type(value).dtype == dtype_ && Elements(graph_.type(value).shape) == 1;
    });
  }

  // The input, and what has no carrier.
  absl::Status Cast() {
    LayoutBuilder builder(rewriter_.graph(), registry_);
    const Attributes attributes{{"dtype", std::string(Name(dtype_))}, {"shape", Shape{1}}};
    ASSIGN_OR_RETURN(cast_,
                     builder.AddSource(registry_.Get(Role::kInput), attributes, kVoteName, layout_, Phase::kForward));
    vote_ = cast_;
    if (open_.empty()) return absl::OkStatus();
    const std::vector<int> axes(open_.begin(), open_.end());
    vote_ = builder.AddMove(MoveKind::kAllReduce, axes, vote_, Resolved(axes), Phase::kForward);
    return absl::OkStatus();
  }

  void Join(NodeId id) {
    Node node = graph_.node(id);
    for (ValueId& input : node.inputs) input = rewriter_.At(input);
    node.inputs.push_back(vote_);
    Graph& graph = rewriter_.graph();
    std::vector<Value> outputs = rewriter_.Outputs(id);
    outputs.push_back({graph.UniqueName(std::string(kVoteName) + "@" + node.op->name), graph.type(vote_),
                       Resolved(MoveAxes(graph_, graph_.node(id))), -1});
    const std::vector<ValueId> joined = graph.node(graph.AddNode(std::move(node), std::move(outputs))).outputs;
    const std::vector<ValueId>& originals = graph_.node(id).outputs;
    for (size_t o = 0; o < originals.size(); ++o) rewriter_.Map(originals[o], joined[o]);
    vote_ = joined.back();
  }

  // The layout of the vote from now on: added up over these axes, too.
  const Layout& Resolved(const std::vector<int>& axes) {
    for (const int axis : axes) layout_[axis] = AxisLayout::Replicate();
    return layout_;
  }

  const Graph& graph_;
  const OpRegistry& registry_;
  const DType dtype_;
  Rewriter rewriter_;
  Layout layout_;              // of the vote, as far as it has come
  std::set<int> open_;         // axes over which nothing adds it up yet
  std::set<NodeId> carriers_;  // all_reduces that it joins
  ValueId cast_ = kNoValue;
  ValueId vote_ = kNoValue;
};

}  // namespace

absl::StatusOr<Graph> CountVotes(const Graph& graph, const OpRegistry& registry) {
  if (graph.ranks() == 1) return graph;
  return VoteCounter(graph, registry).Run();
}

}  // namespace partita
