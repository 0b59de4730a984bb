#include "graph/derive/row_gradients.h"

#include <algorithm>
#include <vector>

#include "runtime/base/status.h"

namespace partita {
namespace {

// What is added up, perhaps after moves, to make the value; a copy, as the graph grows.
void FindTerms(const Graph& graph, ValueId value, std::vector<Node>& terms) {
  const Node& node = graph.node(graph.value(value).producer);
  if (!node.op->move && node.op->role != Role::kAdd) return terms.push_back(node);
  for (const ValueId input : node.inputs) FindTerms(graph, input, terms);
}

bool ByRows(const Node& term) { return term.op->role == Role::kTableGradient && term.attributes.Bool("row_gradients"); }

class RowGradients {
 public:
  RowGradients(LayoutBuilder& builder, const UpdateLayouts& updates) : builder_(builder), updates_(updates) {}

  // Nothing: it is dense.
  absl::StatusOr<std::optional<RowGradient>> Of(ValueId table, ValueId gradient) {
    std::vector<Node> terms;
    FindTerms(graph(), gradient, terms);
    if (std::ranges::none_of(terms, ByRows)) return std::optional<RowGradient>();
    RETURN_IF_ERROR(Check(table, terms));
    NodeRequest request;
    IntList padding;
    for (const Node& term : terms) {
      AddPair(graph().layout(table), term, request);
      padding.push_back(term.attributes.Int("padding_row"));
    }
    const std::string name = graph().value(table).name + "@rows";
    request.op = builder_.registry().Get(Role::kMergeRows).name;
    request.attributes = {{"padding_rows", padding}};
    request.names = {name + "@ids", name};
    request.phase = Phase::kUpdate;
    request.config = ConfigOf(graph().layout(table));
    ASSIGN_OR_RETURN(const std::vector<ValueId> merged, builder_.Add(request));
    return RowGradient{merged[0], merged[1]};
  }

 private:
  Graph& graph() { return builder_.graph(); }

  absl::Status Check(ValueId table, const std::vector<Node>& terms) {
    const std::string& name = graph().value(table).name;
    for (const Node& term : terms) {
      if (ByRows(term)) continue;
      return InvalidArgument(
          "node '{}': row_gradients need all readers of '{}' to be embeddings with row_gradients; '{}' adds to its "
          "gradient",
          name, name, graph().value(term.outputs[0]).name);
    }
    const auto update = updates_.find(table);
    if (update == updates_.end() || update->second == graph().layout(table)) return absl::OkStatus();
    return InvalidArgument(
        "update of '{}': its gradient is rows, which are updated where the table lies; split the "
        "table itself",
        name);
  }

  // Ids and rows of a term, brought to where the table lies.
  void AddPair(const Layout& table, const Node& term, NodeRequest& request) {
    const ValueId ids = term.inputs[1], rows = term.inputs[2];
    const int channels = static_cast<int>(graph().type(rows).shape.size()) - 1;
    Layout of_ids = table, of_rows = table;
    for (size_t a = 0; a < table.size(); ++a) {
      if (!table[a].split()) continue;
      of_ids[a] = AxisLayout::Replicate();
      of_rows[a] = table[a].dimension == 0 ? AxisLayout::Replicate() : AxisLayout::Split(channels, table[a].cuts);
    }
    request.inputs.push_back(builder_.MoveTo(ids, of_ids, Phase::kBackward));
    request.inputs.push_back(builder_.MoveTo(rows, of_rows, Phase::kBackward));
  }

  // How they are merged there, over each axis.
  static NodeConfig ConfigOf(const Layout& table) {
    NodeConfig config{table.mesh, {}};
    for (const AxisLayout& axis : table) {
      AxisConfig said{"replicate", 0, {}};
      if (axis.at()) said = {"at", axis.coordinate, {}};
      if (axis.split() && axis.dimension == 1) said = {"channels", 0, axis.cuts};
      config.axes.push_back(said);
    }
    return config;
  }

  LayoutBuilder& builder_;
  const UpdateLayouts& updates_;
};

}  // namespace

absl::StatusOr<std::map<ValueId, RowGradient>> AppendRowGradients(LayoutBuilder& builder,
                                                                  const std::map<ValueId, ValueId>& gradients,
                                                                  const UpdateLayouts& updates) {
  std::map<ValueId, RowGradient> by_rows;
  RowGradients row_gradients(builder, updates);
  for (const auto& [parameter, gradient] : gradients) {
    ASSIGN_OR_RETURN(const std::optional<RowGradient> rows, row_gradients.Of(parameter, gradient));
    if (rows) by_rows.emplace(parameter, *rows);
  }
  return by_rows;
}

}  // namespace partita
