#include "graph/read/model_entries.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "graph/ir/entry_point.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostEntries = 64;

// Nodes in an order in which each reads those before it, found by name.
class NodeList {
 public:
  static absl::StatusOr<NodeList> Create(const std::vector<NodeDescription>& nodes) {
    ASSIGN_OR_RETURN(std::vector<int> order, OrderNodes(nodes));
    return NodeList(nodes, std::move(order));
  }

  const std::vector<int>& order() const { return order_; }
  const NodeDescription& node(int place) const { return nodes_[place]; }
  // -1: there is none.
  int Find(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? -1 : found->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const NodeDescription& node : nodes_) names.push_back(node.name);
    return names;
  }

  // By place: whether one of `wanted` needs the node.
  std::vector<bool> NeededBy(const std::vector<std::string>& wanted) const {
    std::vector<bool> needed(nodes_.size(), false);
    const auto need = [&](const std::string& name) {
      if (const int place = Find(name); place >= 0) needed[place] = true;
    };
    std::ranges::for_each(wanted, need);
    for (size_t i = order_.size(); i-- > 0;) {
      if (needed[order_[i]]) std::ranges::for_each(nodes_[order_[i]].inputs, need);
    }
    return needed;
  }

 private:
  NodeList(const std::vector<NodeDescription>& nodes, std::vector<int> order)
      : nodes_(nodes), order_(std::move(order)) {
    for (size_t i = 0; i < nodes.size(); ++i) places_.emplace(nodes[i].name, static_cast<int>(i));
  }

  const std::vector<NodeDescription>& nodes_;
  std::vector<int> order_;
  std::unordered_map<std::string, int> places_;
};

bool IsState(const NodeDescription& node, const OpRegistry& registry) {
  const OpDefinition* const op = registry.Find(node.op);
  return op != nullptr && op->is_state();
}

bool IsInput(const NodeDescription& node, const OpRegistry& registry) {
  const OpDefinition* const op = registry.Find(node.op);
  return op != nullptr && op->role == Role::kInput;
}

// nullptr: it has none, which is an error of the node.
const IntList* ShapeOf(const NodeDescription& node) {
  const Attribute* const shape = node.attributes.Find("shape");
  return shape == nullptr ? nullptr : std::get_if<IntList>(shape);
}

std::vector<std::string> ResultNames(const ResultDescription& results) {
  std::vector<std::string> names = results.metrics;
  names.push_back(results.loss);
  for (const FurtherLossDescription& further : results.further_losses) names.push_back(further.value);
  return names;
}

std::string Called(const ModelEntry& entry) { return fmt::format("entry point {}", Quoted(entry.name)); }

absl::Status CheckName(const ModelEntry& entry) {
  RETURN_IF_ERROR(CheckNodeName(entry.name));
  const bool compilers = entry.name == kTrainEntry || entry.name == kEvaluateEntry || entry.name == kPredictEntry;
  if (!compilers && entry.name.find('/') == std::string::npos) return absl::OkStatus();
  return InvalidArgument("the name is {}; one without '/' is needed that is not {}, {} or {}",
                         compilers ? "taken" : "refused", Quoted(kTrainEntry), Quoted(kEvaluateEntry),
                         Quoted(kPredictEntry));
}

absl::Status CheckResults(const ModelEntry& entry, const NodeList& nodes) {
  std::set<std::string> names;
  for (const ModelEntry::Result& result : entry.results) {
    if (nodes.Find(result.value) < 0) {
      return InvalidArgument("there is no node {}{}", Quoted(result.value), Suggestion(result.value, nodes.names()));
    }
    RETURN_IF_ERROR(CheckNodeName(result.name));
    if (!names.insert(result.name).second) {
      return InvalidArgument("two results are called {}; each needs a name of its own", Quoted(result.name));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRow(const NodeDescription& node, const Shape& row) {
  const IntList* const shape = ShapeOf(node);
  if (shape == nullptr || shape->empty()) return absl::OkStatus();
  if (shape->size() != row.size() + 1) {
    return InvalidArgument("input {} is {}, whose rows have {} sizes; given are {}", Quoted(node.name),
                           ToString(*shape), shape->size() - 1, row.size());
  }
  for (size_t d = 0; d < row.size(); ++d) {
    if (row[d] >= 1 && row[d] <= (*shape)[d + 1]) continue;
    return InvalidArgument("input {} is {}, of which other sizes may have less; given is a row {}", Quoted(node.name),
                           ToString(*shape), ToString(row));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const ModelEntry& entry, const NodeList& nodes, const OpRegistry& registry) {
  for (const auto& [input, row] : entry.rows) {
    const int place = nodes.Find(input);
    if (place < 0) return InvalidArgument("there is no input {}{}", Quoted(input), Suggestion(input, nodes.names()));
    const NodeDescription& node = nodes.node(place);
    if (!IsInput(node, registry)) return InvalidArgument("node {} is a {}, no input", Quoted(input), node.op);
    RETURN_IF_ERROR(CheckRow(node, row));
  }
  return absl::OkStatus();
}

absl::Status CheckEntry(const ModelEntry& entry, const NodeList& nodes, const OpRegistry& registry) {
  RETURN_IF_ERROR(CheckName(entry));
  if (entry.rows.empty() == entry.results.empty()) {
    return InvalidArgument("it has {}; one of them is needed",
                           entry.rows.empty() ? "neither sizes nor results" : "sizes and results");
  }
  RETURN_IF_ERROR(CheckSizes(entry, nodes, registry));
  return CheckResults(entry, nodes);
}

absl::Status CheckEntries(const Model& model, const NodeList& nodes, const OpRegistry& registry) {
  if (model.entries.size() > kMostEntries) {
    return InvalidArgument("the graph names {} entry points; at most {} are allowed", model.entries.size(),
                           kMostEntries);
  }
  std::set<std::string> names;
  for (const ModelEntry& entry : model.entries) {
    RETURN_IF_ERROR(WithContext(Called(entry), CheckEntry(entry, nodes, registry)));
    if (names.insert(entry.name).second) continue;
    return InvalidArgument("{}: the name is taken twice; names are unique", Called(entry));
  }
  return absl::OkStatus();
}

// By place: whether only results of entries need the node.
absl::StatusOr<std::vector<bool>> NeededByEntriesAlone(const NodeList& nodes, const ResultDescription& results,
                                                       const Model& model, const OpRegistry& registry) {
  const std::vector<bool> trained = nodes.NeededBy(ResultNames(results));
  std::vector<bool> alone(trained.size(), false);
  for (const ModelEntry& entry : model.entries) {
    std::vector<std::string> wanted;
    for (const ModelEntry::Result& result : entry.results) wanted.push_back(result.value);
    const std::vector<bool> needed = nodes.NeededBy(wanted);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i] || trained[i]) continue;
      alone[i] = true;
      const NodeDescription& node = nodes.node(static_cast<int>(i));
      if (!IsState(node, registry)) continue;
      return InvalidArgument("{}: node {} is a {} that training does not use; entry points have no states of their own",
                             Called(entry), Quoted(node.name), node.op);
    }
  }
  return alone;
}

// What is neither trained nor alone, and reads what is.
absl::Status CheckReaders(const NodeList& nodes, const std::vector<bool>& alone) {
  for (const int place : nodes.order()) {
    if (alone[place]) continue;
    for (const std::string& input : nodes.node(place).inputs) {
      const int read = nodes.Find(input);
      if (read < 0 || !alone[read]) continue;
      return InvalidArgument(
          "node {} reads {}, which is there for an entry point alone, and nothing needs it; remove it",
          Quoted(nodes.node(place).name), Quoted(input));
    }
  }
  return absl::OkStatus();
}

std::vector<NodeDescription> InSizes(std::vector<NodeDescription> nodes, const ModelEntry& entry) {
  for (NodeDescription& node : nodes) {
    const auto row = entry.rows.find(node.name);
    if (row == entry.rows.end()) continue;
    Shape shape = node.attributes.Ints("shape");
    shape.resize(1);
    for (const int64_t size : row->second) shape.push_back(size);
    node.attributes.Set("shape", std::move(shape));
  }
  return nodes;
}

// Of nodes that hold what the results need.
absl::StatusOr<Graph> GraphOfResults(const std::vector<NodeDescription>& nodes,
                                     const std::vector<ModelEntry::Result>& results, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(nodes));
  GraphAssembler assembler(registry);
  for (const int place : order) RETURN_IF_ERROR(assembler.Add(nodes[place]).status());
  Graph graph = assembler.graph();
  for (const ModelEntry::Result& result : results) graph.metrics.push_back(graph.Find(result.value));
  RETURN_IF_ERROR(VerifyFields(graph));
  return graph;
}

absl::StatusOr<Graph> GraphOfResults(const ModelEntry& entry, const NodeList& nodes, const OpRegistry& registry) {
  std::vector<std::string> wanted;
  for (const ModelEntry::Result& result : entry.results) wanted.push_back(result.value);
  const std::vector<bool> needed = nodes.NeededBy(wanted);
  std::vector<NodeDescription> kept;
  for (size_t i = 0; i < needed.size(); ++i) {
    const NodeDescription& node = nodes.node(static_cast<int>(i));
    if (needed[i] || IsState(node, registry)) kept.push_back(node);
  }
  return GraphOfResults(kept, entry.results, registry);
}

absl::StatusOr<Graph> GraphOf(const ModelEntry& entry, const NodeList& nodes,
                              const std::vector<NodeDescription>& trained, const ResultDescription& results,
                              const OpRegistry& registry) {
  if (!entry.is_size()) return GraphOfResults(entry, nodes, registry);
  return BuildGraph(InSizes(trained, entry), results.loss, results.metrics, registry, results.further_losses);
}

}  // namespace

absl::Status BuildGraphs(const std::vector<NodeDescription>& nodes, const ResultDescription& results,
                         const OpRegistry& registry, Model& model) {
  std::vector<NodeDescription> trained = nodes;
  if (model.entries.empty()) {
    ASSIGN_OR_RETURN(model.graph, BuildGraph(nodes, results.loss, results.metrics, registry, results.further_losses));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const NodeList list, NodeList::Create(nodes));
  RETURN_IF_ERROR(CheckEntries(model, list, registry));
  ASSIGN_OR_RETURN(const std::vector<bool> alone, NeededByEntriesAlone(list, results, model, registry));
  RETURN_IF_ERROR(CheckReaders(list, alone));
  std::erase_if(trained, [&](const NodeDescription& node) { return alone[list.Find(node.name)]; });
  ASSIGN_OR_RETURN(model.graph, BuildGraph(trained, results.loss, results.metrics, registry, results.further_losses));
  for (ModelEntry& entry : model.entries) {
    absl::StatusOr<Graph> graph = GraphOf(entry, list, trained, results, registry);
    if (!graph.ok()) return WithContext(Called(entry), graph.status());
    entry.graph = *std::move(graph);
  }
  return absl::OkStatus();
}

std::vector<NodeDescription> DescribeNodes(const Model& model) {
  std::vector<NodeDescription> nodes = Describe(model.graph);
  std::set<std::string> known;
  for (const NodeDescription& node : nodes) known.insert(node.name);
  for (const ModelEntry& entry : model.entries) {
    if (entry.is_size()) continue;
    for (NodeDescription& node : Describe(entry.graph)) {
      if (known.insert(node.name).second) nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

ResultDescription DescribeResults(const Graph& graph) {
  ResultDescription results{graph.value(graph.loss).name, {}, DescribeFurtherLosses(graph)};
  for (const ValueId metric : graph.metrics) results.metrics.push_back(graph.value(metric).name);
  return results;
}

absl::Status AddEntries(std::vector<ModelEntry> entries, std::vector<NodeDescription> nodes, const OpRegistry& registry,
                        Model& model) {
  std::vector<NodeDescription> all = DescribeNodes(model);
  std::ranges::move(nodes, std::back_inserter(all));
  std::ranges::move(entries, std::back_inserter(model.entries));
  return BuildGraphs(all, DescribeResults(model.graph), registry, model);
}

absl::StatusOr<Model> WithBatch(const Model& model, int64_t batch, const OpRegistry& registry) {
  Model sized = model;
  std::vector<NodeDescription> nodes = DescribeNodes(model);
  for (NodeDescription& node : nodes) {
    if (!IsInput(node, registry)) continue;
    Shape shape = node.attributes.Ints("shape");
    shape[0] = batch;
    node.attributes.Set("shape", std::move(shape));
  }
  RETURN_IF_ERROR(BuildGraphs(nodes, DescribeResults(model.graph), registry, sized));
  return sized;
}

}  // namespace partita
