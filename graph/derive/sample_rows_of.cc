#include "graph/derive/sample_rows_of.h"

#include <algorithm>

#include "graph/derive/strategy.h"
#include "graph/ir/node_view.h"

namespace partita {
namespace {

using Known = std::vector<std::optional<SampleRows>>;

bool IsSplit(const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kSplit && !pattern.windows; }

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= shape[d];
  return product;
}

// Of the node's output at `place`, if the rule splits the samples of all inputs that have them alike, and of no other
// but states.
std::optional<SampleRows> RowsByRule(const Graph& graph, const Node& node, const Rule& rule, size_t place,
                                     const Known& before) {
  std::optional<SampleRows> rows;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const std::optional<SampleRows>& own = before[node.inputs[i]];
    const Pattern& pattern = rule.inputs[i];
    if (!own) {
      const bool whole = pattern.kind == AxisLayout::Kind::kReplicate;
      if (!whole && !(IsSplit(pattern) && IsState(graph, node.inputs[i]))) return std::nullopt;
      continue;
    }
    const std::optional<SampleRows> behind = RowsBehind(*own, pattern, rule.outputs[place]);
    if (!behind || (rows && rows != behind)) return std::nullopt;
    rows = behind;
  }
  return rows;
}

}  // namespace

std::optional<SampleRows> RowsBehind(const SampleRows& rows, const Pattern& from, const Pattern& to) {
  if (!IsSplit(from) || !IsSplit(to) || from.dimension != rows.dimension) return std::nullopt;
  if (rows.rows % from.unit != 0) return std::nullopt;
  return SampleRows{to.dimension, rows.repeats, rows.rows / from.unit * to.unit};
}

std::optional<SampleRows> RowsOfView(const SampleRows& rows, const Shape& from, const Shape& to) {
  const auto at = static_cast<size_t>(rows.dimension);
  const int64_t repeats = rows.repeats * Product(from, 0, at),
                elements = rows.rows * Product(from, at + 1, from.size());
  for (size_t d = 0; d < to.size(); ++d) {
    const int64_t before = Product(to, 0, d), behind = Product(to, d + 1, to.size());
    const bool has_samples = before > 0 && behind > 0 && repeats % before == 0 && elements % behind == 0;
    if (has_samples) return SampleRows{static_cast<int>(d), repeats / before, elements / behind};
  }
  return std::nullopt;
}

std::optional<SampleRows> SampleRowsOf(const Graph& graph, ValueId value, const Known& before) {
  const Node& node = graph.node(graph.value(value).producer);
  if (node.op->role == Role::kInput) {
    return graph.type(value).shape.empty() ? std::nullopt : std::optional(SampleRows{});
  }
  const auto of_samples = [&](ValueId input) { return input != kNoValue && before[input].has_value(); };
  if (std::ranges::none_of(node.inputs, of_samples)) return std::nullopt;
  if (node.op->view && node.inputs.size() == 1) {
    return RowsOfView(*before[node.inputs[0]], graph.type(node.inputs[0]).shape, graph.type(value).shape);
  }
  const size_t place = std::ranges::find(node.outputs, value) - node.outputs.begin();
  for (const Rule& rule : RulesOf(graph, node)) {
    if (const std::optional<SampleRows> rows = RowsByRule(graph, node, rule, place, before)) return rows;
  }
  return std::nullopt;
}

}  // namespace partita
