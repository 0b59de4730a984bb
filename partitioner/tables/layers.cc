#include "partitioner/tables/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/derive/strategy.h"
#include "graph/ir/generated_name.h"
#include "graph/passes/prepare_training.h"
#include "partitioner/tables/choice.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A rule by which the input is split along this dimension, element by element or in units, not by windows, and the
// output with it; of a piece of a user's node the output may be a sum.
bool SplitsInput(const std::vector<Rule>& rules, bool piece, size_t input, int dimension) {
  return std::ranges::any_of(rules, [&](const Rule& rule) {
    const Pattern& pattern = rule.inputs[std::min(input, rule.inputs.size() - 1)];
    return rule.name != "partial" && pattern.kind == AxisLayout::Kind::kSplit && pattern.dimension == dimension &&
           !pattern.windows && (piece || rule.outputs[0].kind == AxisLayout::Kind::kSplit);
  });
}

class LayerFinder {
 public:
  explicit LayerFinder(Graph graph) { found_.graph = std::move(graph); }

  LayerGraph Run() {
    found_.layer_of_node.assign(found_.graph.nodes().size(), -1);
    FindWanted();
    for (const Node& node : graph().nodes()) rules_.push_back(RulesOf(graph(), node));
    for (NodeId id = 0; id < static_cast<NodeId>(found_.graph.nodes().size()); ++id) {
      pieces_[UserNameOf(graph().name(id))].push_back(id);
    }
    for (NodeId id = 0; id < static_cast<NodeId>(found_.graph.nodes().size()); ++id) {
      const Node& node = graph().node(id);
      if (!node.op->is_state() && node.op->role != Role::kConstant) Add(id);
    }
    FindShared();
    for (int i = 0; i < static_cast<int>(found_.layers.size()); ++i) FindReads(i);
    for (const ValueId loss : LossesOf()) Make(graph().value(loss).producer, loss);
    FindEdges();
    for (const Node& node : graph().nodes()) found_.splits.push_back(SplitsOf(graph(), node));
    return std::move(found_);
  }

 private:
  const Graph& graph() const { return found_.graph; }

  // As the adjoint does.
  void FindWanted() {
    found_.wanted.assign(graph().values().size(), false);
    for (const Node& node : graph().nodes()) {
      bool wanted = node.op->role == Role::kParameter;
      for (const ValueId input : node.inputs) {
        wanted = wanted || (node.op->gradient && input != kNoValue && found_.wanted[input]);
      }
      for (const ValueId output : node.outputs) found_.wanted[output] = wanted;
    }
  }

  void Add(NodeId id) {
    const std::string user = UserNameOf(graph().name(id));
    const auto known = found_.layer_of_name.find(user);
    int layer = known != found_.layer_of_name.end() ? known->second : LayerToJoin(id);
    if (layer < 0) {
      layer = static_cast<int>(found_.layers.size());
      found_.layers.push_back({graph().name(id), {}, {}, {}});
    }
    found_.layers[layer].nodes.push_back(id);
    found_.layer_of_node[id] = layer;
    found_.layer_of_name[user] = layer;
  }

  // -1: none. Layers read only of layers before them, so it is the latest that the node reads of, or a new one.
  int LayerToJoin(NodeId id) const {
    const Node& node = graph().node(id);
    const std::vector<Rule>& rules = rules_[id];
    if (Multiplies(rules)) return -1;
    const bool piece = IsGenerated(graph().value(node.outputs[0]).name);
    int latest = -1;
    bool joins = false;
    for (size_t i = 0; i < node.inputs.size() && !rules.empty(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const int layer = found_.layer_of_node[graph().value(node.inputs[i]).producer];
      if (layer < latest || layer < 0) continue;
      joins = (layer == latest && joins) || Joins(rules, piece, i, found_.layers[layer]);
      latest = layer;
    }
    return joins && latest == LatestReadByPieces(UserNameOf(graph().name(id))) ? latest : -1;
  }

  // The pieces of a user's node are of one layer, which must not stand before what a later piece reads.
  int LatestReadByPieces(const std::string& user) const {
    int latest = -1;
    for (const NodeId piece : pieces_.at(user)) {
      for (const ValueId input : graph().node(piece).inputs) {
        if (input != kNoValue) latest = std::max(latest, found_.layer_of_node[graph().value(input).producer]);
      }
    }
    return latest;
  }

  // A product can be split by what it contracts and by its outputs' channels, even behind a layer that has no such
  // split, such as a layer norm or a concat.
  static bool Multiplies(const std::vector<Rule>& rules) {
    return std::ranges::any_of(rules, [](const Rule& rule) { return rule.name == "input_channels"; });
  }

  bool Joins(const std::vector<Rule>& rules, bool piece, size_t input, const OpLayer& layer) const {
    const Node& lead = found_.lead(layer);
    const Shape& shape = graph().type(lead.outputs[0]).shape;
    if (lead.op->role == Role::kInput || shape.size() < 2) return false;
    const std::vector<Rule>& of_lead = rules_[layer.nodes[0]];
    return std::ranges::all_of(kCuts, [&](Cut cut) {
      return FindSplit(of_lead, shape, cut) == nullptr ||
             SplitsInput(rules, piece, input, DimensionOf(cut, shape.size()));
    });
  }

  // Parameters that several layers read, such as a table of words that is the classifier, too. Those whose gradients
  // are rows stay the layers' own: no gradient as large as the parameter is added up.
  void FindShared() {
    std::map<ValueId, std::set<int>> readers;
    std::set<ValueId> by_rows;
    for (NodeId id = 0; id < static_cast<NodeId>(graph().nodes().size()); ++id) {
      const Node& node = graph().node(id);
      for (const ValueId input : node.inputs) {
        if (input == kNoValue || graph().node(graph().value(input).producer).op->role != Role::kParameter) continue;
        readers[input].insert(found_.layer_of_node[id]);
        if (node.attributes.Has("row_gradients") && node.attributes.Bool("row_gradients")) by_rows.insert(input);
      }
    }
    for (const auto& [parameter, layers] : readers) {
      if (layers.size() > 1 && !by_rows.contains(parameter)) found_.shared.push_back(parameter);
    }
  }

  bool IsShared(ValueId value) const { return std::ranges::find(found_.shared, value) != found_.shared.end(); }

  void FindReads(int index) {
    OpLayer& layer = found_.layers[index];
    for (const NodeId id : layer.nodes) {
      for (const ValueId input : graph().node(id).inputs) {
        if (input == kNoValue || std::ranges::find(layer.reads, input) != layer.reads.end()) continue;
        const NodeId producer = graph().value(input).producer;
        const int maker = found_.layer_of_node[producer];
        if (maker == index || (maker < 0 && !IsShared(input))) continue;
        layer.reads.push_back(input);
        if (maker >= 0) Make(producer, input);
      }
    }
  }

  void Make(NodeId producer, ValueId value) {
    std::vector<ValueId>& makes = found_.layers[found_.layer_of_node[producer]].makes;
    if (std::ranges::find(makes, value) == makes.end()) makes.push_back(value);
  }

  std::vector<ValueId> LossesOf() const {
    std::vector<ValueId> losses;
    if (graph().loss != kNoValue) losses.push_back(graph().loss);
    for (const FurtherLoss& further : graph().further_losses) losses.push_back(further.value);
    return losses;
  }

  void FindEdges() {
    for (int to = 0; to < static_cast<int>(found_.layers.size()); ++to) {
      const std::vector<ValueId>& reads = found_.layers[to].reads;
      for (size_t r = 0; r < reads.size(); ++r) {
        const int from = found_.layer_of_node[graph().value(reads[r]).producer];
        if (from < 0) continue;  // a shared parameter
        const std::vector<ValueId>& makes = found_.layers[from].makes;
        const auto made = std::ranges::find(makes, reads[r]) - makes.begin();
        found_.edges.push_back({from, to, static_cast<int>(made), static_cast<int>(r), reads[r]});
      }
    }
  }

  LayerGraph found_;
  std::vector<std::vector<Rule>> rules_;               // by node
  std::map<std::string, std::vector<NodeId>> pieces_;  // by the name of the user's node
};

}  // namespace

absl::StatusOr<LayerGraph> FindLayers(const Graph& forward, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(Graph graph, PrepareTraining(forward, registry));
  for (const Fusion& fusion : registry.fusions()) {
    if (fusion.when == Fusion::When::kForward && !fusion.for_gpu) graph = fusion.apply(std::move(graph), registry);
  }
  return LayerFinder(std::move(graph)).Run();
}

}  // namespace partita
