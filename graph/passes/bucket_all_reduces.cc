#include "graph/passes/bucket_all_reduces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/passes/rewriter.h"

namespace partita {
namespace {

// What the members of a bucket share.
using Key = std::tuple<std::string, DType, Reduction, Phase>;

class Bucketer {
 public:
  Bucketer(const Graph& graph, int64_t bytes)
      : graph_(graph), limit_(bytes), rewriter_(graph), bucket_of_(graph.values().size(), nullptr) {}

  Graph Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      for (ValueId input : graph_.node(id).inputs) {
        if (input != kNoValue && bucket_of_[input] != nullptr) Close(*bucket_of_[input]);
      }
      if (graph_.node(id).op->name == "all_reduce") {
        Join(id);
      } else {
        rewriter_.Copy(id);
      }
    }
    for (auto& [key, bucket] : open_) Close(bucket);
    return rewriter_.Finish();
  }

 private:
  struct Bucket {
    std::vector<NodeId> members;
    int64_t bytes = 0;
  };

  // Bytes of one rank's buffer.
  int64_t LocalBytes(ValueId value) const {
    const Value& v = graph_.value(value);
    const std::optional<Box> box = LocalBox(v.layout, v.type.shape, graph_.mesh(), 0);
    return box ? box->elements() * SizeOf(v.type.dtype) : 0;
  }

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
    const Key key{Where(node), graph_.type(node.inputs[0]).dtype, ReductionOf(node), node.phase};
    Bucket& bucket = open_[key];
    bucket.members.push_back(id);
    for (ValueId input : node.inputs) bucket.bytes += LocalBytes(input);
    for (ValueId output : node.outputs) bucket_of_[output] = &bucket;
    if (bucket.bytes >= limit_) Close(bucket);
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
    bucket = Bucket();
  }

  const Graph& graph_;
  const int64_t limit_;
  Rewriter rewriter_;
  std::map<Key, Bucket> open_;  // addresses of its entries stay
  std::vector<Bucket*> bucket_of_;
};

}  // namespace

Graph BucketAllReduces(const Graph& graph, int64_t bytes) { return Bucketer(graph, bytes).Run(); }

int64_t BucketBytes(double latency, double bytes_per_second) {
  constexpr double kShareOfLatency = 0.1;
  return std::max<int64_t>(1, static_cast<int64_t>(latency * bytes_per_second / kShareOfLatency));
}

}  // namespace partita
