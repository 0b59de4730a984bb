#include "runtime/train/graph_fields.h"

#include <algorithm>
#include <map>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The input that labels come from, perhaps by way of ops that move them; kNoValue: they come from none alone.
ValueId SourceOf(const Graph& forward, ValueId labels) {
  const Node* node = &forward.node(forward.value(labels).producer);
  while (node->op->role != Role::kInput) {
    if (node->inputs.size() != 1 || forward.type(node->inputs[0]).dtype != DType::kI32) return kNoValue;
    node = &forward.node(forward.value(node->inputs[0]).producer);
  }
  return node->outputs[0];
}

// By input: the classes of the ops that read it as labels, beside values [samples, classes].
std::map<ValueId, int64_t> ClassesOf(const Graph& forward) {
  std::map<ValueId, int64_t> classes;
  for (const Node& node : forward.nodes()) {
    if (node.op->classes < 0) continue;
    const int64_t told_apart = forward.type(node.inputs[static_cast<size_t>(node.op->classes)]).shape.back();
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || forward.type(input).dtype != DType::kI32) continue;
      const ValueId source = SourceOf(forward, input);
      if (source == kNoValue) continue;
      const auto [found, fresh] = classes.emplace(source, told_apart);
      found->second = std::min(found->second, told_apart);
    }
  }
  return classes;
}

}  // namespace

std::vector<WantedField> WantedFields(const Graph& forward, DType floating) {
  const std::map<ValueId, int64_t> classes = ClassesOf(forward);
  std::vector<WantedField> wanted;
  for (const EntryInput& input : InputsOf(forward)) {
    const TensorType& type = forward.type(input.values[0]);
    const auto found = classes.find(input.values[0]);
    Shape row;
    for (size_t d = 1; d < type.shape.size(); ++d) row.push_back(type.shape[d]);
    wanted.push_back({{input.field, IsFloating(type.dtype) ? floating : type.dtype, std::move(row)},
                      found == classes.end() ? 0 : found->second,
                      true});
  }
  return wanted;
}

absl::StatusOr<int64_t> BatchRows(const Graph& forward) {
  const std::vector<EntryInput> inputs = InputsOf(forward);
  if (inputs.empty()) return InvalidArgument("the graph has no input, so no data can train it");
  const TensorType& first = forward.type(inputs[0].values[0]);
  for (const EntryInput& input : inputs) {
    const TensorType& type = forward.type(input.values[0]);
    if (type.shape[0] == first.shape[0]) continue;
    return InvalidArgument(
        "input {} is {}{}, input {} is {}{}; the first size of all is the batch, so it must be equal",
        Quoted(input.field), Name(type.dtype), ToString(type.shape), Quoted(inputs[0].field), Name(first.dtype),
        ToString(first.shape));
  }
  return first.shape[0];
}

}  // namespace partita
