#include "graph/graph.h"

#include <fmt/format.h>

#include <cmath>

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

std::string ToString(const Attribute& attribute) {
  struct Printer {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
      std::string text = fmt::format("{}", value);
      if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";  // a float stays a float
      return text;
    }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const std::vector<int64_t>& value) const {
      return fmt::format("[{}]", fmt::join(value, ","));
    }
  };
  return std::visit(Printer(), attribute);
}

ValueId Graph::Find(const std::string& value_name) const {
  auto found = by_name_.find(value_name);
  return found == by_name_.end() ? kNoValue : found->second;
}

void Graph::Reserve(size_t nodes, size_t values) {
  nodes_.reserve(nodes);
  values_.reserve(values);
  by_name_.reserve(values);
}

NodeId Graph::AddNode(Node node, const std::vector<Value>& outputs) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  CHECK(!outputs.empty());
  node.outputs.clear();
  for (const Value& output : outputs) {
    const ValueId value = static_cast<ValueId>(values_.size());
    CHECK(by_name_.emplace(output.name, value).second);
    values_.push_back(output);
    values_.back().producer = id;
    node.outputs.push_back(value);
  }
  for (ValueId input : node.inputs) CHECK(input == kNoValue || values_[input].producer < id);
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::SetUpdate(ValueId state_value, ValueId update) {
  for (State& state : states_) {
    if (state.value == state_value) {
      state.update = update;
      return;
    }
  }
  CHECK(false);
}

std::string Graph::UniqueName(const std::string& base) const {
  if (by_name_.count(base) == 0) return base;
  int& suffix = next_suffix_.try_emplace(base, 2).first->second;
  while (true) {
    std::string name = fmt::format("{}@{}", base, suffix++);
    if (by_name_.count(name) == 0) return name;
  }
}

}  // namespace partita
