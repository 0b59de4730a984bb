#include "graph/read/predicted_value.h"

#include <set>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// By value: the inputs that it depends on.
std::vector<std::set<NodeId>> InputsByValue(const Graph& graph) {
  std::vector<std::set<NodeId>> inputs(graph.values().size());
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    std::set<NodeId> read;
    if (node.op->role == Role::kInput) read.insert(id);
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) read.insert(inputs[input].begin(), inputs[input].end());
    }
    for (const ValueId output : node.outputs) inputs[output] = read;
  }
  return inputs;
}

// A parameter, also a frozen one, or a statistic; but no constant of the graph.
bool IsTrained(const Node& node) { return node.op->is_state() && node.attributes.String("initializer") != "values"; }

std::vector<bool> ReachingLoss(const Graph& graph) {
  std::vector<bool> reaching(graph.values().size(), false);
  reaching[graph.loss] = true;
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()); id-- > 0;) {
    bool wanted = false;
    for (const ValueId output : graph.node(id).outputs) wanted = wanted || reaching[output];
    for (const ValueId input : graph.node(id).inputs) {
      if (wanted && input != kNoValue) reaching[input] = true;
    }
  }
  return reaching;
}

// Behind a node nothing that depends on parameters is still to be read but this one value, and no parameter is to come.
ValueId FirstOfAllParameters(const Graph& graph) {
  const std::vector<bool> reaching = ReachingLoss(graph);
  std::vector<NodeId> last_read(graph.values().size(), -1);
  std::vector<bool> depends(graph.values().size(), false);
  NodeId last_parameter = -1;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    bool any = IsTrained(node);
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      any = any || depends[input];
      for (const ValueId output : node.outputs) {
        if (reaching[output]) last_read[input] = id;
      }
    }
    for (const ValueId output : node.outputs) {
      depends[output] = any && reaching[output];
      if (IsTrained(node) && reaching[output]) last_parameter = id;
    }
  }
  std::set<ValueId> open;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && last_read[input] == id) open.erase(input);
    }
    for (const ValueId output : node.outputs) {
      if (depends[output]) open.insert(output);
    }
    if (id > last_parameter && open.size() == 1) return *open.begin();
  }
  return kNoValue;
}

}  // namespace

ValueId PredictedValueOf(const Graph& graph) {
  const std::vector<std::set<NodeId>> inputs = InputsByValue(graph);
  const ValueId first = graph.node(graph.value(graph.loss).producer).inputs[0];
  if (inputs[first].size() < inputs[graph.loss].size()) return first;
  const ValueId value = FirstOfAllParameters(graph);
  return value == graph.loss ? kNoValue : value;
}

}  // namespace partita
