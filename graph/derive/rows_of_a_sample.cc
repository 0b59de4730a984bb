#include "graph/derive/rows_of_a_sample.h"

#include <algorithm>

#include "graph/derive/strategy.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

bool SplitsFirst(const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kSplit && pattern.dimension == 0; }

// Of an output that is split as `to`, by a rule that splits an input of so many rows a sample as `from`.
int64_t RowsBehind(int64_t rows, const Pattern& from, const Pattern& to) {
  return SplitsFirst(to) && rows * to.unit % from.unit == 0 ? rows * to.unit / from.unit : 0;
}

// Of the node's output at `place`, if the rule splits the samples of all inputs that have them, and of no other but
// states.
int64_t RowsByRule(const Graph& graph, const Node& node, const Rule& rule, size_t place,
                   const std::vector<int64_t>& before) {
  int64_t rows = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const int64_t own = before[node.inputs[i]];
    const Pattern& pattern = rule.inputs[i];
    const bool whole = own == 0 && pattern.kind == AxisLayout::Kind::kReplicate;
    if (!whole && !(SplitsFirst(pattern) && (own > 0 || IsState(graph, node.inputs[i])))) return 0;
    if (own > 0) rows = RowsBehind(own, rule.inputs[i], rule.outputs[place]);
  }
  return rows;
}

}  // namespace

int64_t RowsOfASampleOf(const Graph& graph, ValueId value, const std::vector<int64_t>& before) {
  const Node& node = graph.node(graph.value(value).producer);
  if (node.op->role == Role::kInput) return graph.type(value).shape.empty() ? 0 : 1;
  const auto of_samples = [&](ValueId input) { return input != kNoValue && before[input] > 0; };
  if (std::ranges::none_of(node.inputs, of_samples)) return 0;
  const size_t place = std::ranges::find(node.outputs, value) - node.outputs.begin();
  for (const Rule& rule : RulesOf(graph, node)) {
    if (const int64_t rows = RowsByRule(graph, node, rule, place, before); rows > 0) return rows;
  }
  return 0;
}

}  // namespace partita
