#include "graph/ir/node_flops.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// What a node moves that reads or updates rows of a table, input 0, that ids choose, input 1: one for each id. Nothing:
// it is no such node.
const LocalTensor* ChosenRows(const LocalNode& node) {
  const OpDefinition& op = *node.op;
  if (op.role == Role::kEmbedding) return &node.outputs[0];
  const bool updates = !op.in_place.empty() && op.inputs.size() > 2 && op.inputs[1].name == "ids";
  return updates ? node.operand(2) : nullptr;
}

}  // namespace

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
  const LocalTensor* const rows = ChosenRows(node);
  // What is as large as the table is the table, or lies beside it row by row.
  const auto moved = [&](const LocalTensor& tensor) {
    const bool in_rows = rows != nullptr && tensor.shape() == node.inputs[0]->shape();
    return static_cast<double>(in_rows ? std::min(tensor.bytes(), rows->bytes()) : tensor.bytes());
  };
  double bytes = 0;
  for (const auto& input : node.inputs) bytes += input ? moved(*input) : 0;
  for (const LocalTensor& output : node.outputs) bytes += moved(output);
  return bytes;
}

}  // namespace partita
