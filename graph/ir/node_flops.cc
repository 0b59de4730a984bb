#include "graph/ir/node_flops.h"

#include <optional>
#include <vector>

#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"

namespace partita {

double FlopsOf(const Graph& graph, const Node& node) {
  return node.op->flops ? node.op->flops(ViewOf(graph, node)) : 0;
}

double FlopsOf(const LocalNode& node) {
  if (!node.op->flops) return 0;
  if (node.members > 1) {
    double sum = 0;
    for (int m = 0; m < node.members; ++m) sum += FlopsOf(MemberOf(node, m));
    return sum;
  }
  std::vector<TensorType> inputs;
  for (const auto& input : node.inputs)
    inputs.push_back(input ? TensorType{input->dtype, input->shape()} : TensorType{});
  NodeView view{node.attributes, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) view.inputs.push_back(node.inputs[i] ? &inputs[i] : nullptr);
  for (const LocalTensor& output : node.outputs) view.outputs.push_back({output.dtype, output.shape()});
  return node.op->flops(view);
}

double BytesOf(const LocalNode& node) {
  double bytes = 0;
  for (const auto& input : node.inputs) bytes += input ? static_cast<double>(input->bytes()) : 0;
  for (const LocalTensor& output : node.outputs) bytes += static_cast<double>(output.bytes());
  return bytes;
}

}  // namespace partita
