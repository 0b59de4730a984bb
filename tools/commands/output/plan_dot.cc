// DrawWholePlan: the picture of `trainer plan --full --format=dot`. Names and layouts have no characters that dot must
// be told of (graph/value/node_name.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "tools/commands/output/plan_text.h"

namespace partita {
namespace {

std::string DrawMesh(const PlanProto& plan) {
  std::string label = plan.mesh_size() == 0 ? "one rank" : "mesh";
  for (const PlanAxisProto& axis : plan.mesh()) label += fmt::format(" {}:{}", axis.name(), axis.size());
  for (const PlanMeshProto& mesh : plan.further_meshes()) {
    label += fmt::format("\\lmesh {}", mesh.name());
    for (const PlanAxisProto& axis : mesh.axes()) label += fmt::format(" {}:{}", axis.name(), axis.size());
    label += fmt::format(" {{{}}}", fmt::join(mesh.ranks(), ","));
  }
  for (const PlanGroupProto& group : plan.groups()) {
    label += fmt::format("\\l{}{} {{{}}}: {} collectives, {} wire bytes", fmt::join(group.axes(), "+"),
                         fmt::join(group.meshes(), "~"), fmt::join(group.ranks(), ","), group.operations(),
                         group.wire_bytes());
  }
  return fmt::format("  mesh [shape=note label=\"{}\\l\"];\n", label);
}

std::string DrawNode(const PlanNodeProto& node) {
  const bool is_move = node.axes_size() + node.meshes_size() > 0;
  const std::string what = is_move ? fmt::format("{} over {}{}\\n{} wire bytes", node.op(), fmt::join(node.axes(), "+"),
                                                 fmt::join(node.meshes(), "~"), node.wire_bytes())
                                   : node.op();
  const std::string look = is_move ? " style=filled fillcolor=lightsalmon" : "";
  return fmt::format("    \"{0}\" [label=\"{0}\\n{1}\\n{2} {3}\"{4}];\n", node.name(), what, node.type(), node.layout(),
                     look);
}

std::string DrawEdges(const PlanProto& plan) {
  std::map<std::string, std::string> producer;
  for (const PlanNodeProto& node : plan.nodes()) {
    for (const std::string& value : node.outputs()) producer[value] = node.name();
  }
  std::string text;
  for (const PlanNodeProto& node : plan.nodes()) {
    for (const std::string& value : node.inputs()) {
      text += fmt::format("  \"{}\" -> \"{}\";\n", producer[value], node.name());
    }
  }
  return text;
}

}  // namespace

std::string DrawWholePlan(const PlanProto& plan) {
  std::map<std::string, std::string> phases;
  for (const PlanNodeProto& node : plan.nodes()) phases[node.phase()] += DrawNode(node);
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", plan.model()) + DrawMesh(plan);
  for (const auto& [phase, nodes] : phases) {
    text += fmt::format("  subgraph \"cluster_{0}\" {{\n    label=\"{0}\";\n{1}  }}\n", phase, nodes);
  }
  return text + DrawEdges(plan) + "}\n";
}

}  // namespace partita
