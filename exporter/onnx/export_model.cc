#include "exporter/onnx/export_model.h"

#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "exporter/onnx/lowering.h"
#include "graph/ir/entry_point.h"
#include "graph/passes/drop_unused.h"
#include "graph/read/model_entries.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

// The same graph of another batch. None: it names the batch in a node, or has no inputs.
std::optional<Graph> OfAnotherBatch(const partita::Model& model, const OpRegistry& registry, const std::string& value) {
  const std::vector<EntryInput> inputs = InputsOf(model.graph);
  if (inputs.empty()) return std::nullopt;
  const int64_t batch = model.graph.type(inputs[0].values[0]).shape[0];
  // A multiple, which batch norms of parts of the batch need.
  absl::StatusOr<partita::Model> other = WithBatch(model, 2 * batch, registry);
  if (!other.ok()) return std::nullopt;
  absl::StatusOr<Graph> graph = OnlyResults(std::move(other->graph), {value});
  if (!graph.ok()) return std::nullopt;
  return *std::move(graph);
}

// kInvalidArgument: the reason why the node has no form in ONNX.
absl::Status LowerNode(const Graph& graph, const Node& node, Emitter& emitter) {
  for (const ValueId output : node.outputs) RETURN_IF_ERROR(ElementTypeOf(graph.type(output).dtype).status());
  if (node.op->is_state() || node.op->role == Role::kConstant) return absl::OkStatus();  // written where it is read
  if (node.op->name == "noise") return InvalidArgument("its random numbers are not those of any op of ONNX");
  const Lowering* const lowering = FindLowering(node.op->name);
  if (lowering == nullptr) return InvalidArgument("the op has no form in ONNX");
  emitter.Begin(node);
  return lowering->lower(node, emitter);
}

// The name of an input: its field, unless several share it or another value is called so.
std::string NameOf(const Graph& graph, ValueId input, const std::map<std::string, int>& inputs_of_field) {
  const Node& node = graph.node(graph.value(input).producer);
  const std::string& field = node.attributes.String(kField);
  const bool is_free = !field.empty() && inputs_of_field.at(field) == 1 && graph.Find(field) == kNoValue;
  return is_free ? field : graph.value(input).name;
}

absl::Status LowerNodes(const Graph& graph, Emitter& emitter) {
  std::map<std::string, int> inputs_of_field;
  for (const Node& node : graph.nodes()) {
    if (node.op->role == Role::kInput) ++inputs_of_field[node.attributes.String(kField)];
  }
  std::vector<std::string> refused;
  for (const Node& node : graph.nodes()) {
    const ValueId output = node.outputs[0];
    const std::string& name = graph.value(output).name;
    if (node.op->role == Role::kInput) {
      emitter.DeclareInput(output, NameOf(graph, output, inputs_of_field));
      continue;
    }
    const absl::Status lowered = LowerNode(graph, node, emitter);
    if (lowered.ok()) continue;
    refused.push_back(fmt::format("node {} ({}): {}", Quoted(name), node.op->name, std::string(lowered.message())));
    for (const ValueId each : node.outputs) emitter.Bind(each, Order::kGraph, name);  // for the nodes behind it
  }
  if (refused.empty()) return absl::OkStatus();
  return InvalidArgument("{} of its {} nodes cannot be written as ONNX: {}", refused.size(), graph.nodes().size(),
                         fmt::join(refused, "; "));
}

}  // namespace

absl::StatusOr<ExportedModel> ExportOnnx(const partita::Model& model, const OpRegistry& registry,
                                         const ExportOptions& options) {
  ASSIGN_OR_RETURN(const Graph graph, OnlyResults(model.graph, {options.value}));
  const std::optional<Graph> other = OfAnotherBatch(model, registry, options.value);
  Emitter emitter(graph, other ? &*other : nullptr, options.read);
  RETURN_IF_ERROR(LowerNodes(graph, emitter));
  emitter.DeclareOutput(ResultsOf(graph)[0]);
  ExportedModel exported{std::move(emitter).Finish(), other.has_value()};
  exported.model.name = model.name.empty() ? "graph" : model.name;
  exported.model.producer_version = options.producer_version;
  return exported;
}

}  // namespace partita::onnx_export
