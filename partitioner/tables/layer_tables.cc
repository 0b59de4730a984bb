#include "partitioner/tables/layer_tables.h"

#include <fmt/format.h>

#include <algorithm>

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
    for (const LayerEdge& edge : layers_.edges) AddEdge(edge);
    result_.matrices = matrices_.made();
    return std::move(result_);
  }

 private:
  // No dimension in more parts than it has elements, or groups of elements that belong together.
  bool HasRoom(const OpLayer& layer, const Choice& choice) const {
    const Shape& shape = layers_.graph.type(layers_.lead(layer).outputs[0]).shape;
    const bool room = std::ranges::all_of(kCuts, [&](Cut cut) {
      const int degree = DegreeOf(choice, result_.mesh, cut), dimension = DimensionOf(cut, shape.size());
      if (degree == 1 || (shape.empty() && cut == Cut::kSamples)) return true;
      const Rule* const split = FindSplit(layers_.splits[layer.nodes[0]], shape, cut);
      return dimension >= 0 && degree <= shape[dimension] / (split == nullptr ? 1 : split->outputs[0].unit);
    });
    return room && DegreeOf(choice, result_.mesh, Cut::kSummed) <= SummedElements(layer);
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
      choices.push_back(choice);
      costs.push_back(&*cost);
    }
    if (choices.empty()) return WithContext(fmt::format("layer '{}'", layer.name), Reason(reason));
    result_.tables.ops.push_back(std::move(table));
    result_.choices.push_back(std::move(choices));
    costs_of_.push_back(std::move(costs));
    return absl::OkStatus();
  }

  static absl::Status Reason(const absl::Status& status) {
    return status.ok() ? InvalidArgument("there is no way to split it") : status;
  }

  void AddEdge(const LayerEdge& edge) {
    const auto make = [&] { return SecondsOf(edge); };
    result_.tables.edges.push_back({edge.from, edge.to, matrices_.Of(SignatureOf(edge), make)});
  }

  std::vector<double> SecondsOf(const LayerEdge& edge) const {
    std::vector<EdgeEnd> from, to;
    for (const LayerCost* const cost : costs_of_[edge.from]) from.push_back({cost->makes[edge.made], {}});
    for (size_t i = 0; i < costs_of_[edge.to].size(); ++i)
      to.push_back({costs_of_[edge.to][i]->reads[edge.read], result_.choices[edge.to][i]});
    const TensorType& type = layers_.graph.type(edge.value);
    return EdgeSeconds(type, from, to, layers_.wanted[edge.value], result_.mesh, costs_.moves());
  }

  // All that the seconds depend on.
  std::string SignatureOf(const LayerEdge& edge) const {
    const TensorType& type = layers_.graph.type(edge.value);
    std::string text =
        fmt::format("{}{}{}", Name(type.dtype), partita::ToString(type.shape), layers_.wanted[edge.value] ? "!" : "");
    for (const LayerCost* const cost : costs_of_[edge.from]) Append(cost->makes[edge.made], text);
    text += '>';
    for (size_t i = 0; i < costs_of_[edge.to].size(); ++i) {
      Append(costs_of_[edge.to][i]->reads[edge.read], text);
      for (const Cut cut : result_.choices[edge.to][i]) text += ReadsWhole(cut) ? '-' : '+';
    }
    return text;
  }

  // Nearly all are whole, or split in balanced blocks.
  static void Append(const Layout& layout, std::string& text) {
    for (const AxisLayout& axis : layout) {
      const bool plain = axis.split() && axis.cuts.empty() && !axis.windows && axis.dimension < 10;
      if (plain)
        text += static_cast<char>('0' + axis.dimension);
      else
        text += axis.replicated() ? "R" : axis.ToString() + " ";
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
    return op.role == Role::kConvolution ? model == Cut::kSamples : ReadsWhole(model) || model == Cut::kChannels;
  };
  // A node without samples (a weight that is looked at) is whole over data as well.
  return [&layers, columns, mode](const OpLayer& layer, const Choice& choice) {
    const Node& lead = layers.lead(layer);
    const Shape& shape = layers.graph.type(lead.outputs[0]).shape;
    const bool samples = columns > 1 && FindSplit(layers.splits[layer.nodes[0]], shape, Cut::kSamples) != nullptr;
    return choice[0] == (samples ? Cut::kSamples : Cut::kWhole) && mode(layer, choice[1]);
  };
}

std::vector<Choice> ChoicesOf(const LayerTables& tables, const std::vector<int>& configs) {
  std::vector<Choice> choices;
  for (size_t i = 0; i < configs.size(); ++i) choices.push_back(tables.choices[i][configs[i]]);
  return choices;
}

}  // namespace partita
