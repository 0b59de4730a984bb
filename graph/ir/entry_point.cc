#include "graph/ir/entry_point.h"

#include <algorithm>
#include <map>

#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"

namespace partita {

std::vector<ValueId> ResultsOf(const Graph& graph) {
  std::vector<ValueId> results;
  if (graph.loss != kNoValue) results.push_back(graph.loss);
  for (const FurtherLoss& further : graph.further_losses) results.push_back(further.value);
  results.insert(results.end(), graph.metrics.begin(), graph.metrics.end());
  return results;
}

std::vector<ValueId> ReadByHost(const Graph& graph) {
  std::vector<ValueId> values = ResultsOf(graph);
  if (graph.apply != kNoValue) values.push_back(graph.apply);
  if (graph.votes.counted()) values.push_back(graph.votes.sum);
  return values;
}

std::vector<EntryInput> InputsOf(const Graph& graph) {
  std::vector<EntryInput> inputs;
  std::map<std::string, size_t> place;
  for (const Node& node : graph.nodes()) {
    if (node.op->role != Role::kInput || node.outputs[0] == graph.votes.cast) continue;
    const ValueId value = node.outputs[0];
    std::string field = node.attributes.Has(kField) ? node.attributes.String(kField) : "";
    if (field.empty()) field = graph.value(value).name;
    const auto [found, fresh] = place.emplace(std::move(field), inputs.size());
    if (fresh) inputs.push_back({found->first, {}});
    inputs[found->second].values.push_back(value);
  }
  // Passes that order a pipeline may have moved them.
  const auto micro_batch = [&](ValueId value) { return graph.node(graph.value(value).producer).micro_batch; };
  for (EntryInput& input : inputs) std::ranges::stable_sort(input.values, {}, micro_batch);
  return inputs;
}

const EntryInput* EntryPoint::FindInput(std::string_view field) const {
  const auto found = std::ranges::find(inputs, field, &EntryInput::field);
  return found == inputs.end() ? nullptr : &*found;
}

std::vector<std::string> ResultNamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId result : ResultsOf(graph)) names.push_back(graph.value(result).name);
  return names;
}

EntryPoint MakeEntryPoint(std::string name, Graph graph, const std::vector<std::string>& names) {
  EntryPoint entry{std::move(name), std::move(graph), {}, {}};
  entry.inputs = InputsOf(entry.graph);
  const std::vector<ValueId> results = ResultsOf(entry.graph);
  CHECK(results.size() == names.size());
  for (size_t r = 0; r < results.size(); ++r) entry.results.push_back({names[r], results[r]});
  return entry;
}

EntryPoint MakeEntryPoint(std::string name, Graph graph) {
  const std::vector<std::string> names = ResultNamesOf(graph);
  return MakeEntryPoint(std::move(name), std::move(graph), names);
}

}  // namespace partita
