// `trainer show`: what a graph is: its sizes (text, json) or its picture (dot).
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "graph/ir/entry_point.h"
#include "ops/registry.h"
#include "run/plan/graph_hash.h"
#include "run/plan/inputs.h"
#include "runtime/base/number.h"
#include "tools/commands/commands.h"
#include "tools/models/models.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string Printed(const Value& value) {
  return fmt::format("{} {}{}", value.name, Name(value.type.dtype), ToString(value.type.shape));
}

std::map<std::string, int> CountOps(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[node.op->name];
  return counts;
}

struct Total {
  int tensors = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};

Total SumOf(const Graph& graph, Role role) {
  Total total;
  for (const Node& node : graph.nodes()) {
    if (node.op->role != role) continue;
    const TensorType& type = graph.type(node.outputs[0]);
    ++total.tensors;
    total.elements += Elements(type.shape);
    total.bytes += Elements(type.shape) * SizeOf(type.dtype);
  }
  return total;
}

std::string Printed(const Total& total) {
  return fmt::format("{} in {}, {:.1f} KiB", total.elements, Counted(total.tensors, "tensor"),
                     static_cast<double>(total.bytes) / 1024);
}

std::vector<std::string> InputLines(const Graph& graph) {
  std::vector<std::string> inputs;
  for (const Node& node : graph.nodes()) {
    if (node.op->role == Role::kInput) inputs.push_back(Printed(graph.value(node.outputs[0])));
  }
  return inputs;
}

int64_t BatchOf(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op->role == Role::kInput) return graph.type(node.outputs[0]).shape[0];
  }
  return 1;
}

// "sgd, momentum 0.9, nesterov true, weight_decay 0.0, not clipped"
std::string Printed(const Optimizer& optimizer) {
  std::string text = FindOptimizer(optimizer.name, Ops().optimizers())->name;
  for (const auto& [name, value] : optimizer.attributes.entries()) {
    text += fmt::format(", {} {}", name, ToString(value));
  }
  return text + (optimizer.clip_norm > 0 ? fmt::format(", clipped to norm {}", optimizer.clip_norm) : ", not clipped");
}

// "short: words[2], next[2]", "step: state, ids -> log_probabilities"
std::string Printed(const ModelEntry& entry) {
  std::vector<std::string> sizes, inputs, results;
  for (const auto& [input, row] : entry.rows) sizes.push_back(input + ToString(row));
  if (entry.is_size()) return fmt::format("{}: {}", entry.name, fmt::join(sizes, ", "));
  for (const EntryInput& input : InputsOf(entry.graph)) inputs.push_back(input.field);
  for (const ModelEntry::Result& result : entry.results) results.push_back(result.name);
  return fmt::format("{}: {} -> {}", entry.name, fmt::join(inputs, ", "), fmt::join(results, ", "));
}

void ShowText(const Model& model, std::ostream& out) {
  const Graph& graph = model.graph;
  std::string ops;
  for (const auto& [op, count] : CountOps(graph)) ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", count, op);
  std::vector<std::string> metrics;
  for (ValueId metric : graph.metrics) metrics.push_back(graph.value(metric).name);
  const double multiply_adds = MultiplyAdds(graph), batch = static_cast<double>(BatchOf(graph));
  const Lines lines = {
      {"model", model.name},
      {"hash", GraphHash(model)},
      {"inputs", fmt::format("{}", fmt::join(InputLines(graph), ", "))},
      {"nodes", fmt::format("{}: {}", graph.nodes().size(), ops)},
      {"parameters", Printed(SumOf(graph, Role::kParameter))},
      {"states", Printed(SumOf(graph, Role::kState))},
      {"multiply-adds", fmt::format("{:.0f} a sample, {:.0f} a batch", multiply_adds / batch, multiply_adds)},
      {"loss", graph.value(graph.loss).name},
      {"metrics", fmt::format("{}", fmt::join(metrics, ", "))},
      {"optimizer", Printed(model.optimizer)},
      {"learning rate", fmt::format("{}, base {}", model.learning_rate.schedule, model.learning_rate.base)},
  };
  for (const auto& [name, value] : lines) out << fmt::format("{:<14} {}\n", name, value);
  for (const ModelEntry& entry : model.entries) out << fmt::format("{:<14} {}\n", "entry point", Printed(entry));
}

void ShowJson(const Model& model, std::ostream& out) {
  const Graph& graph = model.graph;
  nlohmann::json metrics = nlohmann::json::array();
  for (ValueId metric : graph.metrics) metrics.push_back(graph.value(metric).name);
  nlohmann::json entries = nlohmann::json::array();
  for (const ModelEntry& entry : model.entries) entries.push_back(Printed(entry));
  const Total parameters = SumOf(graph, Role::kParameter), states = SumOf(graph, Role::kState);
  const nlohmann::json json = {
      {"schema_version", 1},
      {"model", model.name},
      {"graph_hash", GraphHash(model)},
      {"inputs", InputLines(graph)},
      {"nodes", graph.nodes().size()},
      {"ops", CountOps(graph)},
      {"parameters", parameters.elements},
      {"parameter_bytes", parameters.bytes},
      {"state_bytes", states.bytes},
      {"multiply_adds_per_sample", MultiplyAdds(graph) / static_cast<double>(BatchOf(graph))},
      {"loss", graph.value(graph.loss).name},
      {"metrics", metrics},
      {"entry_points", entries},
  };
  out << json.dump(2) << "\n";
}

// Names have no characters that dot must be told of (graph/value/node_name.h).
void ShowDot(const Model& model, std::ostream& out) {
  const Graph& graph = model.graph;
  out << "digraph \"" << model.name << "\" {\n  node [shape=box];\n";
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.outputs[0]);
    const char* shape = node.inputs.empty() ? " shape=ellipse" : "";
    out << fmt::format("  \"{0}\" [label=\"{0}\\n{1} {2}{3}\"{4}];\n", graph.name(id), node.op->name, Name(type.dtype),
                       ToString(type.shape), shape);
    for (ValueId input : node.inputs) {
      if (input != kNoValue) out << fmt::format("  \"{}\" -> \"{}\";\n", graph.value(input).name, graph.name(id));
    }
  }
  out << "}\n";
}

absl::StatusOr<int> Show(const ContextOf<RunSpec>& context) {
  const std::string& format = context.spec.output().format();
  ASSIGN_OR_RETURN(const Model model, ReadModel(context.spec));
  if (format == "json") {
    ShowJson(model, context.out);
  } else if (format == "dot") {
    ShowDot(model, context.out);
  } else {
    ShowText(model, context.out);
  }
  return kExitFinished;
}

}  // namespace

Command ShowCommand() { return {"show", "describe a graph; --format=dot draws it", "GRAPH", Runs<RunSpec>(Show)}; }

}  // namespace partita
