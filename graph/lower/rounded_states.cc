#include "graph/lower/rounded_states.h"

#include <string_view>
#include <unordered_map>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// The op's output that it can write rounded makes `value`.
bool MadeRounded(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.value(value).producer);
  return node.op->rounds >= 0 && node.outputs[static_cast<size_t>(node.op->rounds)] == value;
}

// What the entry points do with a state.
struct Uses {
  bool rounded = false;  // one casts it
  bool follows = true;   // those that change it can round it
};

}  // namespace

bool RoundsToBf16(const Graph& graph, const Node& node) {
  return node.op->role == Role::kCast && graph.type(node.inputs[0]).dtype == DType::kF32 &&
         graph.type(node.outputs[0]).dtype == DType::kBF16;
}

std::vector<bool> KeptRounded(const Program& program) {
  std::unordered_map<std::string_view, Uses> uses;
  for (const EntryPoint& entry : program.entries) {
    const Graph& graph = entry.graph;
    std::unordered_map<ValueId, int> becomes;  // how many states a value becomes
    for (const State& state : graph.states()) ++becomes[state.update];
    for (const State& state : graph.states()) {
      Uses& of_state = uses[graph.value(state.value).name];
      if (state.update == kNoValue) continue;
      of_state.follows = of_state.follows && becomes[state.update] == 1 && MadeRounded(graph, state.update);
    }
    for (const Node& node : graph.nodes()) {
      if (!RoundsToBf16(graph, node)) continue;
      const auto state = uses.find(graph.value(node.inputs[0]).name);
      if (state != uses.end()) state->second.rounded = true;
    }
  }
  std::vector<bool> kept;
  const Graph& graph = program.state_graph();
  for (const State& state : graph.states()) {
    const Uses& of_state = uses[graph.value(state.value).name];
    kept.push_back(of_state.rounded && of_state.follows);
  }
  return kept;
}

}  // namespace partita
