#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/group_key.h"
#include "graph/moves/move_bytes.h"
#include "graph/text/text.h"

namespace partita {
namespace {

std::string Reference(const Graph& graph, ValueId value) {
  return value == kNoValue ? "_" : "%" + graph.value(value).name;
}

std::string References(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId value : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", Reference(graph, value));
  return text;
}

// True for an attribute that the reader of the line knows anyway.
bool Implied(const Graph& graph, const Node& node, const std::string& name, const Attribute& value) {
  const TensorType& type = graph.type(node.outputs[0]);
  if (name == "shape" && value == Attribute(type.shape)) return true;
  if (name == "dtype" && value == Attribute(std::string(Name(type.dtype)))) return true;
  const AttributeDefinition* definition = node.op->FindAttribute(name);
  return definition != nullptr && definition->has_default() && definition->type_and_default == value;
}

std::string BytesText(const Graph& graph, const Node& node) {
  std::vector<MoveBytes> groups;
  for (const std::vector<int>& ranks : GroupsOf(KeyOf(graph, node), graph.meshes())) {
    groups.push_back(BytesOfNode(graph, node, ranks));
  }
  if (std::all_of(groups.begin(), groups.end(), [&](const MoveBytes& bytes) { return bytes == groups[0]; })) {
    return fmt::format("  # payload {}, wire {}{}", groups[0].payload, groups[0].wire,
                       groups.size() > 1 ? fmt::format(" in each of {} groups", groups.size()) : "");
  }
  std::string text = "  # payload, wire by group:";
  for (const MoveBytes& bytes : groups) text += fmt::format(" {},{}", bytes.payload, bytes.wire);
  return text;
}

}  // namespace

std::string NodeText(const Graph& graph, NodeId id, const TextOptions& options) {
  const Node& node = graph.node(id);
  std::string line =
      fmt::format("{} = {}({})", References(graph, node.outputs), node.op->name, References(graph, node.inputs));
  for (const auto& [name, value] : node.attributes.entries()) {
    if (!Implied(graph, node, name, value)) line += fmt::format(" {}={}", name, ToString(value));
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const Value& value = graph.value(node.outputs[o]);
    line += fmt::format("{} {}{}", o == 0 ? "" : ",", Name(value.type.dtype), ToString(value.type.shape));
    if (!graph.mesh().axes.empty()) line += " " + ToString(value.layout, graph.mesh(value.layout));
  }
  if (options.bytes && node.op->move) line += BytesText(graph, node);
  return line;
}

std::string ToText(const Graph& graph, const TextOptions& options) {
  std::string text;
  for (const Mesh& mesh : graph.meshes()) {
    if (mesh.axes.empty()) continue;
    text += fmt::format("mesh {}{}{}\n", mesh.name, mesh.name.empty() ? "" : " ", mesh.ToString());
  }
  for (const State& state : graph.states()) {
    text += "state " + Reference(graph, state.value);
    if (state.update != kNoValue) text += " = " + Reference(graph, state.update);
    text += "\n";
  }
  Phase phase = Phase::kForward;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (graph.node(id).phase != phase) text += fmt::format("phase {}\n", Name(phase = graph.node(id).phase));
    text += NodeText(graph, id, options) + "\n";
  }
  if (graph.loss != kNoValue) text += fmt::format("loss {}\n", Reference(graph, graph.loss));
  for (const FurtherLoss& further : graph.further_losses) {
    text += fmt::format("further_loss {} {}{}\n", Reference(graph, further.value), ToString(Attribute(further.weight)),
                        further.training_only ? " training_only" : "");
  }
  for (ValueId metric : graph.metrics) text += fmt::format("metric {}\n", Reference(graph, metric));
  if (graph.apply != kNoValue) text += fmt::format("apply {}\n", Reference(graph, graph.apply));
  if (graph.votes.counted()) {
    text += fmt::format("votes {} = {}\n", Reference(graph, graph.votes.cast), Reference(graph, graph.votes.sum));
  }
  return text;
}

}  // namespace partita
