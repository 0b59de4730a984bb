#include "ops/fusions/pool_last.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"
#include "ops/fusions/pixel_convolution.h"

namespace partita {
namespace {

// The pooling that only this convolution reads and that can as well come behind it; -1: there is none.
NodeId PoolingBefore(const Graph& graph, const std::vector<int>& readers, const Node& convolution) {
  if (convolution.op->name != "conv2d" || readers[convolution.inputs[0]] != 1) return -1;
  const ValueId pooled = convolution.inputs[0];
  const Shape& w = graph.type(convolution.inputs[1]).shape;
  const NodeId pooling = graph.value(pooled).producer;
  if (graph.node(pooling).op->name != "average_pool" || !IsOfPixels(convolution.attributes, w)) return -1;
  const bool keeps_size = graph.type(pooled) == graph.type(graph.node(pooling).inputs[0]);
  const bool fewer = 2 * w[0] <= w[3];
  return keeps_size && fewer ? pooling : -1;
}

ValueId Append(Node node, std::string name, TensorType type, Graph& graph) {
  const NodeId id = graph.AddNode(std::move(node), {{std::move(name), std::move(type), {}, -1}});
  return graph.node(id).outputs[0];
}

void AppendExchanged(NodeId pooling, NodeId convolution, Rewriter& rewriter) {
  const Graph& graph = rewriter.from();
  Node first = graph.node(convolution), second = graph.node(pooling);
  const ValueId y = first.outputs[0];
  first.inputs = {rewriter.At(second.inputs[0]), rewriter.At(first.inputs[1])};
  const ValueId unpooled = Append(std::move(first), graph.value(y).name + "@unpooled", graph.type(y), rewriter.graph());
  second.inputs = {unpooled};
  rewriter.Map(y, Append(std::move(second), graph.value(y).name + "@pooled", graph.type(y), rewriter.graph()));
}

}  // namespace

Graph PoolLast(Graph graph, const OpRegistry&) {
  const std::vector<int> readers = CountReaders(graph);
  const auto nodes = static_cast<NodeId>(graph.nodes().size());
  std::vector<NodeId> pooling_before(graph.nodes().size(), -1);  // by convolution
  std::vector<bool> moved(graph.nodes().size(), false);
  for (NodeId id = 0; id < nodes; ++id) {
    pooling_before[id] = PoolingBefore(graph, readers, graph.node(id));
    if (pooling_before[id] >= 0) moved[pooling_before[id]] = true;
  }
  if (std::ranges::find(moved, true) == moved.end()) return graph;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < nodes; ++id) {
    if (moved[id]) continue;
    if (pooling_before[id] < 0) {
      rewriter.Copy(id);
    } else {
      AppendExchanged(pooling_before[id], id, rewriter);
    }
  }
  return rewriter.Finish();
}

}  // namespace partita
