#include "partitioner/tables/layer_program.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/derive/adjoint.h"
#include "graph/derive/layout_builder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Maker {
 public:
  Maker(const LayerGraph& layers, const OpLayer& layer, const Mesh& mesh, const OpRegistry& registry)
      : layers_(layers), layer_(layer), registry_(registry), graph_(mesh), builder_(graph_, registry) {
    // About so many: a gradient or two for each node, and moves.
    graph_.Reserve(8 * layer.nodes.size(), 10 * layer.nodes.size());
  }

  absl::StatusOr<LayerProgram> Make(const Choice& choice, bool for_gpu) {
    for (const NodeId id : layer_.nodes) RETURN_IF_ERROR(Add(id, choice));
    for (const ValueId value : layer_.reads) {
      program_.reads.push_back(graph_.layout(value_.at(value)));
      program_.read_names.insert(whole().value(value).name);
    }
    for (const ValueId value : layer_.makes) program_.makes.push_back(graph_.layout(value_.at(value)));
    RETURN_IF_ERROR(AddGradients());
    program_.by_rows = std::ranges::any_of(graph_.nodes(), [](const Node& node) {
      return node.op->role == Role::kTableGradient && node.attributes.Bool("row_gradients");
    });
    for (const Fusion& fusion : registry_.fusions()) {
      if (fusion.when == Fusion::When::kForward || (fusion.for_gpu && !for_gpu)) continue;
      graph_ = fusion.apply(std::move(graph_), registry_);
    }
    program_.graph = std::move(graph_);
    return std::move(program_);
  }

 private:
  const Graph& whole() const { return layers_.graph; }

  // What the layer is given stands for a parameter if its gradient is wanted, so that the adjoint makes it.
  const OpDefinition& StandIn(ValueId value, const Node& producer) const {
    if (producer.op->is_state()) return *producer.op;
    return registry_.Get(layers_.wanted[value] ? Role::kParameter : Role::kInput);
  }

  absl::Status AddConstant(ValueId value, const Node& producer) {
    ASSIGN_OR_RETURN(value_[value], builder_.AddSource(*producer.op, producer.attributes, whole().value(value).name,
                                                       Replicated(graph_.mesh()), Phase::kForward));
    return absl::OkStatus();
  }

  const FreeSource* Source(ValueId value, const Node& producer) {
    const Value& given = whole().value(value);
    sources_[value] = {given.name, &StandIn(value, producer), producer.attributes, given.type, -1, {}};
    return &sources_[value];
  }

  absl::Status Add(NodeId id, const Choice& choice) {
    const Node& node = whole().node(id);
    const bool leads = id == layer_.nodes[0];
    const auto axes = AxesOf(layers_.splits[id], whole().value(node.outputs[0]), leads, choice);
    if (!axes) return InvalidArgument("node '{}' has no such split", whole().name(id));
    NodeRequest request;
    request.op = node.op->name;
    request.attributes = node.attributes;
    request.config = {0, *axes};
    for (size_t a = 0; a < axes->size(); ++a) {
      if (graph_.mesh().axes[a].size == 1) request.config.axes[a].reset();
    }
    const bool in_pieces = std::ranges::any_of(request.config.axes, [&](const std::optional<AxisConfig>& config) {
      return config && node.op->decomposition && config->split == node.op->decomposition->split;
    });
    for (const ValueId output : node.outputs) request.names.push_back(whole().value(output).name);
    if (in_pieces) return AddPieces(node, request);
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, AddReading(node.inputs, {}, request));
    for (size_t o = 0; o < outputs.size(); ++o) value_[node.outputs[o]] = outputs[o];
    return absl::OkStatus();
  }

  // As graph/passes/decompose.h does.
  absl::Status AddPieces(const Node& node, const NodeRequest& whole_node) {
    std::vector<ValueId> pieces;
    for (const Decomposition::Piece& piece : node.op->decomposition->pieces) {
      NodeRequest request;
      request.op = piece.op;
      request.config = whole_node.config;
      request.names = {whole_node.names[0] + "@" + piece.name};
      ASSIGN_OR_RETURN(const std::vector<ValueId> made, AddReading({node.inputs[0]}, pieces, std::move(request)));
      pieces.push_back(made[0]);
    }
    NodeRequest request = whole_node;
    request.op = node.op->decomposition->op;
    ASSIGN_OR_RETURN(const std::vector<ValueId> made, AddReading(node.inputs, pieces, std::move(request)));
    value_[node.outputs[0]] = made[0];
    return absl::OkStatus();
  }

  // `inputs`: of the whole graph; `pieces`: of this one, behind them.
  absl::StatusOr<std::vector<ValueId>> AddReading(const std::vector<ValueId>& inputs,
                                                  const std::vector<ValueId>& pieces, NodeRequest request) {
    for (const ValueId input : inputs) {
      const bool known = input == kNoValue || value_.contains(input);
      const Node* const producer = known ? nullptr : &whole().node(whole().value(input).producer);
      const bool constant = producer != nullptr && producer->op->role == Role::kConstant;
      if (constant) RETURN_IF_ERROR(AddConstant(input, *producer));
      const bool free = producer != nullptr && !constant;
      request.free.push_back(free ? Source(input, *producer) : nullptr);
      request.inputs.push_back(free || input == kNoValue ? kNoValue : value_.at(input));
    }
    for (const ValueId piece : pieces) {
      request.free.push_back(nullptr);
      request.inputs.push_back(piece);
    }
    ASSIGN_OR_RETURN(std::vector<ValueId> outputs, builder_.Add(request));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (request.free[i] != nullptr) value_[inputs[i]] = graph_.Find(request.free[i]->name);
    }
    return outputs;
  }

  // What others read stands for a loss, of whatever form, so that gradients begin there.
  absl::Status AddGradients() {
    bool any = false;
    for (const ValueId value : layer_.makes) {
      if (!layers_.wanted[value]) continue;
      if (any)
        graph_.further_losses.push_back({value_.at(value), 1, false});
      else
        graph_.loss = value_.at(value);
      any = true;
    }
    if (!any) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto gradients, AppendAdjoint(builder_));
    std::set<ValueId> read;
    for (const ValueId value : layer_.reads) read.insert(value_.at(value));
    for (const auto& [source, gradient] : gradients) {
      NameMovesTo(gradient, read.contains(source) ? program_.brought_back : program_.synchronizing);
    }
    graph_.loss = kNoValue;
    graph_.further_losses.clear();
    return absl::OkStatus();
  }

  // The moves behind the last kernel; ghosts that are given back are the layer's own.
  void NameMovesTo(ValueId value, std::set<std::string>& names) const {
    while (true) {
      const Node& node = graph_.node(graph_.value(value).producer);
      if (!node.op->move || MovesGhosts(*node.op->move)) return;
      names.insert(graph_.value(value).name);
      value = node.inputs[0];
    }
  }

  const LayerGraph& layers_;
  const OpLayer& layer_;
  const OpRegistry& registry_;
  Graph graph_;
  LayoutBuilder builder_;
  LayerProgram program_;
  std::unordered_map<ValueId, ValueId> value_;  // of the whole graph's values here
  std::unordered_map<ValueId, FreeSource> sources_;
};

}  // namespace

absl::StatusOr<LayerProgram> MakeLayerProgram(const LayerGraph& layers, const OpLayer& layer, const Mesh& mesh,
                                              const Choice& choice, const OpRegistry& registry, bool for_gpu) {
  return Maker(layers, layer, mesh, registry).Make(choice, for_gpu);
}

}  // namespace partita
