#include "graph/ir/graph.h"

#include <fmt/format.h>

#include "runtime/base/check.h"

namespace partita {

const char* Name(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  return "?";
}

Graph::Graph(std::vector<Mesh> meshes) : meshes_(std::move(meshes)) {
  CHECK(!meshes_.empty());
  for (size_t m = 0; m < meshes_.size(); ++m) CHECK(meshes_[m].id == static_cast<int>(m));
}

ValueId Graph::Find(std::string_view value_name) const {
  static_assert(NameIndex::kNone == kNoValue);
  return by_name_.Find(value_name, [&](ValueId id) -> const std::string& { return values_[id].name; });
}

void Graph::Reserve(size_t nodes, size_t values) {
  nodes_.reserve(nodes);
  values_.reserve(values);
  by_name_.Reserve(values);
}

NodeId Graph::AddNode(Node node, std::vector<Value> outputs) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  CHECK(!outputs.empty());
  for (ValueId input : node.inputs) CHECK(input < static_cast<ValueId>(values_.size()));
  node.outputs.clear();
  node.outputs.reserve(outputs.size());
  const auto name_of = [&](ValueId value) -> const std::string& { return values_[value].name; };
  for (Value& output : outputs) {
    const ValueId value = static_cast<ValueId>(values_.size());
    CHECK(by_name_.Add(output.name, value, name_of));
    output.producer = id;
    values_.push_back(std::move(output));
    node.outputs.push_back(value);
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::AddState(State state) {
  state_of_.emplace(state.value, states_.size());
  states_.push_back(state);
}

State& Graph::StateOf(ValueId state_value) {
  const auto state = state_of_.find(state_value);
  CHECK(state != state_of_.end());
  return states_[state->second];
}

void Graph::SetUpdate(ValueId state_value, ValueId update) { StateOf(state_value).update = update; }

void Graph::SetGradient(ValueId state_value, ValueId gradient) { StateOf(state_value).gradient = gradient; }

std::string Graph::UniqueName(const std::string& base) const {
  if (Find(base) == kNoValue) return base;
  int& suffix = next_suffix_.try_emplace(base, 2).first->second;
  while (true) {
    std::string name = fmt::format("{}@{}", base, suffix++);
    if (Find(name) == kNoValue) return name;
  }
}

}  // namespace partita
