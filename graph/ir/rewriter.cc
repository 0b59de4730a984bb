#include "graph/ir/rewriter.h"

#include "graph/ir/entry_point.h"

namespace partita {

NodeId Rewriter::Copy(NodeId original) {
  Node node = from_.node(original);
  for (ValueId& input : node.inputs) {
    const ValueId copy = At(input);
    CHECK(input == kNoValue || copy != kNoValue);
    input = copy;
  }
  return Replace(original, std::move(node));
}

std::vector<Value> Rewriter::Outputs(NodeId original) const {
  std::vector<Value> outputs;
  outputs.reserve(from_.node(original).outputs.size());
  for (ValueId output : from_.node(original).outputs) outputs.push_back(from_.value(output));
  return outputs;
}

NodeId Rewriter::Replace(NodeId original, Node node) {
  const NodeId id = graph_.AddNode(std::move(node), Outputs(original));
  const std::vector<ValueId>& outputs = from_.node(original).outputs;
  for (size_t o = 0; o < outputs.size(); ++o) Map(outputs[o], graph_.node(id).outputs[o]);
  return id;
}

Graph Rewriter::Finish() {
  for (const State& state : from_.states()) {
    if (At(state.value) != kNoValue) graph_.AddState({At(state.value), At(state.update), At(state.gradient)});
  }
  graph_.loss = At(from_.loss);
  for (FurtherLoss further : from_.further_losses) {
    further.value = At(further.value);
    graph_.further_losses.push_back(further);
  }
  for (ValueId metric : from_.metrics) graph_.metrics.push_back(At(metric));
  graph_.apply = At(from_.apply);
  graph_.votes = {At(from_.votes.cast), At(from_.votes.sum)};
  return std::move(graph_);
}

std::vector<int> CountReaders(const Graph& graph) {
  std::vector<int> readers(graph.values().size(), 0);
  auto read = [&](ValueId value) {
    if (value != kNoValue) ++readers[value];
  };
  for (const Node& node : graph.nodes()) {
    for (ValueId input : node.inputs) read(input);
  }
  for (const State& state : graph.states()) read(state.update);
  for (const ValueId value : ReadByHost(graph)) read(value);
  return readers;
}

}  // namespace partita
