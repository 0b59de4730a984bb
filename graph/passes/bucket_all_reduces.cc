#include "graph/passes/bucket_all_reduces.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "graph/ir/gradient_moves.h"
#include "graph/ir/node_flops.h"
#include "graph/ir/rewriter.h"
#include "graph/moves/move_bytes.h"

namespace partita {
namespace {

// What the members of a bucket share. The last: whether they are gradients.
using Key = std::tuple<std::string, DType, Reduction, Phase, bool>;

bool IsAllReduce(const Node& node) { return node.op->move == MoveKind::kAllReduce; }

// Bytes of the buffer of the mesh's first rank.
int64_t LocalBytes(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  const Mesh& mesh = graph.mesh(value);
  const std::optional<Box> box = LocalBox(v.layout, v.type.shape, mesh, mesh.RankAt(0));
  return box ? box->elements() * SizeOf(v.type.dtype) : 0;
}

// The moves that something waits for before the update, and what is computed between them.
class WaitedMoves {
 public:
  WaitedMoves(const Graph& graph, const std::vector<bool>& gradients) {
    flops_.push_back(0);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      const Node& node = graph.node(id);
      flops_.push_back(flops_.back() + FlopsOf(graph, node));
      if (node.phase == Phase::kUpdate) continue;
      end_ = id + 1;
      if (node.op->move && Communicates(graph, node) && !gradients[id]) moves_.push_back(id);
    }
  }

  // The move behind which a gradient bucket that is full at `id` has most to hide behind, among the next few: it must
  // not wait for long. -1: none, now is better.
  NodeId BetterAfter(NodeId id) const {
    constexpr int kMoves = 3;
    auto next = std::ranges::upper_bound(moves_, id);
    double most = next == moves_.end() ? 0 : Between(id, *next);
    NodeId best = -1;
    for (int seen = 0; next != moves_.end() && seen < kMoves; ++next) {
      const double flops = Between(*next, next + 1 == moves_.end() ? end_ : next[1]);
      seen += flops > 0;  // moves with nothing between are waited for together
      if (flops <= most) continue;
      most = flops;
      best = *next;
    }
    return best;
  }

 private:
  double Between(NodeId first, NodeId last) const { return flops_[last] - flops_[first]; }

  std::vector<NodeId> moves_;  // rising
  std::vector<double> flops_;  // of the nodes before each
  NodeId end_ = 0;             // of what comes before the update
};

class Bucketer {
 public:
  Bucketer(const Graph& graph, int64_t bytes)
      : graph_(graph),
        limit_(bytes),
        gradients_(GradientMoves(graph)),
        waited_(graph, gradients_),
        rewriter_(graph),
        bucket_of_(graph.values().size(), nullptr) {}

  Graph Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      for (ValueId input : graph_.node(id).inputs) {
        if (input != kNoValue && bucket_of_[input] != nullptr) Close(*bucket_of_[input]);
      }
      if (IsAllReduce(graph_.node(id))) {
        Join(id);
      } else {
        rewriter_.Copy(id);
        Release(id);
      }
    }
    for (Bucket& bucket : held_) Close(bucket);
    for (auto& [key, bucket] : open_) Close(bucket);
    return rewriter_.Finish();
  }

 private:
  struct Bucket {
    std::vector<NodeId> members;
    int64_t bytes = 0;
    NodeId until = -1;  // of a full one that is held: it goes behind this node
  };

  Reduction ReductionOf(const Node& node) const {
    for (const AxisLayout& axis : graph_.layout(node.inputs[0])) {
      if (axis.partial()) return axis.reduction;
    }
    return Reduction::kSum;
  }

  // Members must meet in the same groups: values that lie At one rank of another axis are apart from the others.
  std::string Where(const Node& node) const {
    std::string where = node.attributes.String("axes");
    const Layout& layout = graph_.layout(node.inputs[0]);
    for (size_t a = 0; a < layout.size(); ++a) {
      if (layout[a].at()) where += fmt::format(" {}@{}", a, layout[a].coordinate);
    }
    return where;
  }

  void Join(NodeId id) {
    const Node& node = graph_.node(id);
    const Key key{Where(node), graph_.type(node.inputs[0]).dtype, ReductionOf(node), node.phase, gradients_[id]};
    Bucket& bucket = open_[key];
    bucket.members.push_back(id);
    for (ValueId input : node.inputs) bucket.bytes += LocalBytes(graph_, input);
    for (ValueId output : node.outputs) bucket_of_[output] = &bucket;
    const bool only_for_update = node.phase == Phase::kUpdate && !gradients_[id];
    if (bucket.bytes < limit_ || (only_for_update && limit_ > 0)) return;
    const NodeId later = gradients_[id] && limit_ > 0 ? waited_.BetterAfter(id) : -1;
    if (later < 0) return Close(bucket);
    Hold(bucket, later);
  }

  void Hold(Bucket& bucket, NodeId until) {
    Bucket& held = held_.emplace_back(std::exchange(bucket, {}));
    held.until = until;
    for (NodeId member : held.members) {
      for (ValueId output : graph_.node(member).outputs) bucket_of_[output] = &held;
    }
  }

  // Node `id` stands in the copy.
  void Release(NodeId id) {
    for (Bucket& bucket : held_) {
      if (bucket.until <= id) Close(bucket);
    }
  }

  void Close(Bucket& bucket) {
    if (bucket.members.empty()) return;
    Node joined = graph_.node(bucket.members[0]);
    joined.inputs.clear();
    std::vector<Value> outputs;
    std::vector<ValueId> originals;
    for (NodeId member : bucket.members) {
      for (ValueId input : graph_.node(member).inputs) joined.inputs.push_back(rewriter_.At(input));
      for (ValueId output : graph_.node(member).outputs) {
        outputs.push_back(graph_.value(output));
        originals.push_back(output);
        bucket_of_[output] = nullptr;
      }
    }
    const NodeId id = rewriter_.graph().AddNode(std::move(joined), std::move(outputs));
    for (size_t o = 0; o < originals.size(); ++o) rewriter_.Map(originals[o], rewriter_.graph().node(id).outputs[o]);
    const NodeId last = bucket.members.back();
    bucket = Bucket();
    if (!gradients_[last]) Release(last);
  }

  const Graph& graph_;
  const int64_t limit_;
  const std::vector<bool> gradients_;
  const WaitedMoves waited_;
  Rewriter rewriter_;
  std::map<Key, Bucket> open_;  // addresses of its entries stay, and those of the next
  std::deque<Bucket> held_;     // in their order; those that stand in the copy are empty
  std::vector<Bucket*> bucket_of_;
};

constexpr int64_t kBuckets = 8;

int64_t ReducedGradientBytes(const Graph& graph) {
  const std::vector<bool> gradients = GradientMoves(graph);
  int64_t bytes = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!gradients[id] || !IsAllReduce(graph.node(id))) continue;
    for (ValueId input : graph.node(id).inputs) bytes += LocalBytes(graph, input);
  }
  return bytes;
}

}  // namespace

Graph BucketAllReduces(const Graph& graph, int64_t bytes) { return Bucketer(graph, bytes).Run(); }

int64_t BucketBytes(const Graph& graph, double latency, double bytes_per_second) {
  constexpr double kShareOfLatency = 0.1;
  const auto least = std::max<int64_t>(1, static_cast<int64_t>(latency * bytes_per_second));
  const auto most = std::max(least, static_cast<int64_t>(latency * bytes_per_second / kShareOfLatency));
  const int64_t bytes = ReducedGradientBytes(graph);
  return bytes == 0 ? most : std::clamp(bytes / kBuckets, least, most);
}

int64_t BucketBytes(const Graph& graph) { return std::max<int64_t>(1, ReducedGradientBytes(graph) / kBuckets); }

}  // namespace partita
