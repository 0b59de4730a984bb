#include "partitioner/tables/layer_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "partitioner/tables/edge_seconds.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Filler {
 public:
  Filler(LayerCosts& costs, const ChoiceFilter& filter) : layers_(costs.layers()), filter_(filter), costs_(costs) {
    result_.mesh = costs.mesh();
  }

  absl::Status AddLayers() {
    const std::vector<Choice> all = AllChoices(result_.mesh);
    std::vector<std::string> names;
    for (const Choice& choice : all) names.push_back(ToString(choice, result_.mesh));
    for (const OpLayer& layer : layers_.layers) RETURN_IF_ERROR(AddLayer(layer, all, names));
    return absl::OkStatus();
  }

  absl::StatusOr<LayerTables> Run() {
    RETURN_IF_ERROR(AddLayers());
    for (const ValueId parameter : layers_.shared) RETURN_IF_ERROR(AddShared(parameter));
    std::map<ValueId, std::vector<const LayerEdge*>> readers;
    for (const LayerEdge& edge : layers_.edges) readers[edge.value].push_back(&edge);
    for (const auto& [value, edges] : readers) AddEdges(value, edges);
    result_.matrices = matrices_.made();
    return std::move(result_);
  }

 private:
  // No dimension in more parts than it has elements, or groups of elements that belong together.
  bool HasRoom(const OpLayer& layer, const Choice& choice) const {
    const Shape& shape = layers_.graph.type(layers_.lead(layer).outputs[0]).shape;
    const auto degree_of = [&](Cut cut) { return DegreeOf(choice, result_.mesh, cut); };
    const int scattered = degree_of(Cut::kScattered);
    if (scattered > 1 && layer.nodes.size() == 1) return false;  // nothing behind takes parts of the sum
    const Cut behind = CutOfNode(Cut::kScattered, /*leads=*/false, shape.size());
    const bool room = std::ranges::all_of(kCuts, [&](Cut cut) {
      const int degree = degree_of(cut) * (cut == behind ? scattered : 1), dimension = DimensionOf(cut, shape.size());
      if (degree == 1 || (shape.empty() && cut == Cut::kSamples)) return true;
      const Rule* const split = FindSplit(layers_.splits[layer.nodes[0]], shape, cut);
      return dimension >= 0 && degree <= shape[dimension] / (split == nullptr ? 1 : split->outputs[0].unit);
    });
    return room && degree_of(Cut::kSummed) * scattered <= SummedElements(layer);
  }

  // Of the dimension that kSummed splits; 1: there is none.
  int64_t SummedElements(const OpLayer& layer) const {
    const Node& lead = layers_.lead(layer);
    const Rule* const split =
        FindSplit(layers_.splits[layer.nodes[0]], layers_.graph.type(lead.outputs[0]).shape, Cut::kSummed);
    return split == nullptr ? 1 : ElementsAlong(layers_.graph, lead, *split);
  }

  absl::Status AddLayer(const OpLayer& layer, const std::vector<Choice>& all, const std::vector<std::string>& names) {
    OpTable table{layer.name, {}, {}, {}};
    std::vector<Choice> choices;
    std::vector<const LayerCost*> costs;
    std::vector<double> synchronization;
    absl::Status reason;
    for (size_t i = 0; i < all.size(); ++i) {
      const Choice& choice = all[i];
      if (!HasRoom(layer, choice) || (filter_ && !filter_(layer, choice))) continue;
      const absl::StatusOr<LayerCost>& cost = costs_.Of(layer, choice);
      reason.Update(cost.status());
      if (!cost.ok()) continue;
      table.configs.push_back(names[i]);
      table.seconds.push_back(cost->forward + cost->backward + cost->synchronization + cost->update);
      table.bytes.push_back(cost->weight_bytes + cost->activation_bytes);
      synchronization.push_back(cost->synchronization);
      choices.push_back(choice);
      costs.push_back(&*cost);
    }
    if (choices.empty()) return WithContext(fmt::format("layer '{}'", layer.name), Reason(reason));
    result_.tables.ops.push_back(std::move(table));
    result_.choices.push_back(std::move(choices));
    result_.synchronization.push_back(std::move(synchronization));
    costs_of_.push_back(std::move(costs));
    return absl::OkStatus();
  }

  static absl::Status Reason(const absl::Status& status) {
    return status.ok() ? InvalidArgument("there is no way to split it") : status;
  }

  // From one reader straight to it; several share a hub.
  void AddEdges(ValueId value, const std::vector<const LayerEdge*>& edges) {
    std::vector<EdgeEnd> made;
    for (const LayerCost* const cost : costs_of_[edges[0]->from]) made.push_back({cost->makes[edges[0]->made]});
    if (edges.size() == 1) return AddEdge(value, edges[0]->from, made, edges[0]->to, ReadsOf(*edges[0]));
    std::vector<EdgeEnd> ends;
    for (const LayerEdge* const edge : edges) AddDistinct(ReadsOf(*edge), ends);
    OpTable hub{layers_.graph.value(value).name, {}, {}, {}};
    for (const EdgeEnd& end : ends) {
      hub.configs.push_back(partita::ToString(end.layout, result_.mesh));
      hub.seconds.push_back(0);
      hub.bytes.push_back(0);
    }
    const int op = AddHub(std::move(hub));
    AddEdge(value, edges[0]->from, made, op, ends);
    for (const LayerEdge* const edge : edges) AddEdge(value, op, Open(ends), edge->to, ReadsOf(*edge));
  }

  // A parameter lies in one of the ways in which layers read it.
  absl::Status AddShared(ValueId parameter) {
    std::vector<EdgeEnd> ends;
    for (size_t layer = 0; layer < layers_.layers.size(); ++layer) {
      const int read = PlaceOf(parameter, layers_.layers[layer]);
      if (read >= 0) AddDistinct(ReadsOf(static_cast<int>(layer), read), ends);
    }
    OpTable table{layers_.graph.value(parameter).name, {}, {}, {}};
    std::vector<Choice> choices;
    std::vector<double> synchronization;
    std::vector<EdgeEnd> possible;
    for (const EdgeEnd& end : ends) {
      const std::optional<Choice> choice = ChoiceOf(end.layout, layers_.graph.type(parameter).shape.size());
      if (!choice) continue;
      const SharedCost cost = costs_.OfShared(parameter, end.layout, Open({end})[0].open);
      table.configs.push_back(ToString(*choice, result_.mesh));
      table.seconds.push_back(cost.synchronization + cost.update);
      table.bytes.push_back(cost.weight_bytes);
      synchronization.push_back(cost.synchronization);
      choices.push_back(*choice);
      possible.push_back(end);
    }
    if (choices.empty()) return InvalidArgument("parameter '{}' lies in no way that its layers read", table.op);
    const int op = AddHub(std::move(table));
    result_.choices.push_back(std::move(choices));
    result_.synchronization.push_back(std::move(synchronization));
    for (size_t layer = 0; layer < layers_.layers.size(); ++layer) {
      const int read = PlaceOf(parameter, layers_.layers[layer]), to = static_cast<int>(layer);
      if (read >= 0) AddEdge(parameter, op, Open(possible), to, ReadsOf(to, read));
    }
    return absl::OkStatus();
  }

  int AddHub(OpTable hub) {
    result_.tables.ops.push_back(std::move(hub));
    return static_cast<int>(result_.tables.ops.size()) - 1;
  }

  void AddEdge(ValueId value, int from, const std::vector<EdgeEnd>& made, int to, const std::vector<EdgeEnd>& read) {
    const TensorType& type = layers_.graph.type(value);
    const bool back = layers_.wanted[value];
    const auto make = [&] { return EdgeSeconds(type, made, read, back, result_.mesh, costs_.moves()); };
    result_.tables.edges.push_back({from, to, matrices_.Of(SignatureOf(type, back, made, read), make)});
  }

  static int PlaceOf(ValueId value, const OpLayer& layer) {
    const auto place = std::ranges::find(layer.reads, value);
    return place == layer.reads.end() ? -1 : static_cast<int>(place - layer.reads.begin());
  }

  std::vector<EdgeEnd> ReadsOf(const LayerEdge& edge) const { return ReadsOf(edge.to, edge.read); }

  // By config of the layer.
  std::vector<EdgeEnd> ReadsOf(int layer, int read) const {
    std::vector<EdgeEnd> ends;
    for (size_t i = 0; i < costs_of_[layer].size(); ++i) {
      EdgeEnd end{costs_of_[layer][i]->reads[read]};
      for (size_t a = 0; a < end.layout.size(); ++a) {
        const bool idle = end.layout[a].replicated() && ReadsWhole(result_.choices[layer][i][a]);
        end.idle |= idle ? 1U << a : 0;
      }
      ends.push_back(std::move(end));
    }
    return ends;
  }

  static void AddDistinct(const std::vector<EdgeEnd>& more, std::vector<EdgeEnd>& ends) {
    for (const EdgeEnd& end : more) {
      const auto same = [&](const EdgeEnd& other) { return other.idle == end.idle && other.layout == end.layout; };
      if (std::ranges::none_of(ends, same)) ends.push_back(end);
    }
  }

  // The ways to read as ways to hold: what is no whole gradient on each rank is a summand.
  static std::vector<EdgeEnd> Open(std::vector<EdgeEnd> ends) {
    for (EdgeEnd& end : ends) {
      for (size_t a = 0; a < end.layout.size(); ++a) end.open |= end.layout[a].replicated() ? 1U << a : 0;
      end.open &= ~end.idle;
      end.idle = 0;
    }
    return ends;
  }

  // nullopt: it is no choice of how to split dimensions in balanced blocks.
  static std::optional<Choice> ChoiceOf(const Layout& layout, size_t rank) {
    Choice choice;
    for (const AxisLayout& axis : layout) {
      const auto cut = std::ranges::find_if(
          kCuts, [&](Cut one) { return axis.split() && DimensionOf(one, rank) == axis.dimension; });
      const bool balanced = axis.split() && axis.cuts.empty() && !axis.windows && cut != std::end(kCuts);
      if (!balanced && !axis.replicated()) return std::nullopt;
      choice.push_back(balanced ? *cut : Cut::kWhole);
    }
    return choice;
  }

  // All that the seconds depend on.
  static std::string SignatureOf(const TensorType& type, bool back, const std::vector<EdgeEnd>& made,
                                 const std::vector<EdgeEnd>& read) {
    std::string text = fmt::format("{}{}{}", Name(type.dtype), partita::ToString(type.shape), back ? "!" : "");
    for (const EdgeEnd& end : made) Append(end, text);
    text += '>';
    for (const EdgeEnd& end : read) Append(end, text);
    return text;
  }

  // Nearly all are whole, or split in balanced blocks.
  static void Append(const EdgeEnd& end, std::string& text) {
    for (size_t a = 0; a < end.layout.size(); ++a) {
      const AxisLayout& axis = end.layout[a];
      const bool plain = axis.split() && axis.cuts.empty() && !axis.windows && axis.dimension < 10;
      if (plain)
        text += static_cast<char>('0' + axis.dimension);
      else if (axis.replicated())
        text += (end.idle >> a & 1) != 0 ? 'I' : (end.open >> a & 1) != 0 ? 'O' : 'R';
      else
        text += axis.ToString() + " ";
    }
  }

  const LayerGraph& layers_;
  const ChoiceFilter& filter_;
  LayerCosts& costs_;
  LayerTables result_;
  EdgeMatrices matrices_;
  std::vector<std::vector<const LayerCost*>> costs_of_;  // by layer, by config
};

}  // namespace

absl::StatusOr<LayerTables> MakeLayerTables(LayerCosts& costs, const ChoiceFilter& filter) {
  return Filler(costs, filter).Run();
}

absl::Status PrepareLayers(LayerCosts& costs, const ChoiceFilter& filter) { return Filler(costs, filter).AddLayers(); }

absl::StatusOr<LayerTables> GridModeTables(LayerCosts& costs, bool of_groups) {
  return MakeLayerTables(costs, GridModes(costs, of_groups));
}

ChoiceFilter GridModes(const LayerCosts& costs, bool of_groups) {
  const LayerGraph& layers = costs.layers();
  const int columns = costs.mesh().axes[0].size, rows = costs.mesh().axes[1].size;
  const auto mode = [&layers, of_groups, rows](const OpLayer& layer, Cut model) {
    const OpDefinition& op = *layers.lead(layer).op;
    if (rows == 1) return model == Cut::kWhole;
    if (!of_groups) return model != Cut::kWidth;
    const bool other = op.role != Role::kConvolution && op.role != Role::kProduct;
    if (other) return model == Cut::kSamples || model == Cut::kSummed || model == Cut::kWhole;
    if (op.role == Role::kConvolution) return model == Cut::kSamples;
    return ReadsWhole(model) || model == Cut::kScattered || model == Cut::kChannels;
  };
  // A node without samples (a weight that is looked at) is whole over data as well.
  return [&layers, columns, mode](const OpLayer& layer, const Choice& choice) {
    const Node& lead = layers.lead(layer);
    const Shape& shape = layers.graph.type(lead.outputs[0]).shape;
    const bool samples = columns > 1 && FindSplit(layers.splits[layer.nodes[0]], shape, Cut::kSamples) != nullptr;
    return choice[0] == (samples ? Cut::kSamples : Cut::kWhole) && mode(layer, choice[1]);
  };
}

CostTables WithHiddenSums(const LayerTables& tables) {
  CostTables hidden = tables.tables;
  for (size_t op = 0; op < tables.synchronization.size(); ++op) {
    for (size_t i = 0; i < hidden.ops[op].seconds.size(); ++i) {
      double& seconds = hidden.ops[op].seconds[i];
      seconds = std::max(seconds - tables.synchronization[op][i], 0.0);
    }
  }
  return hidden;
}

std::vector<Choice> ChoicesOf(const LayerTables& tables, const std::vector<int>& configs) {
  std::vector<Choice> choices;
  for (size_t i = 0; i < tables.choices.size(); ++i) choices.push_back(tables.choices[i][configs[i]]);
  return choices;
}

}  // namespace partita
