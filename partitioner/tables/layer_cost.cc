#include "partitioner/tables/layer_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/ir/group_key.h"
#include "graph/schedule/localize.h"
#include "partitioner/tables/layer_program.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The first rank's: of balanced blocks the first is never smaller than another.
constexpr int kRank = 0;

// It reads the parameter, its gradient and what is kept beside it, and writes all but the gradient.
double UpdateSeconds(double bytes, const CostBasis& basis, int sharing) {
  const double written = bytes * (1 - 1 / basis.copies_of_weights);
  return RooflineSeconds({0, bytes + written, DType::kF32}, basis.cluster.KindOf(kRank), sharing);
}

class Reckoner {
 public:
  Reckoner(const LayerProgram& program, const Choice& choice, const Mesh& mesh, const CostBasis& basis,
           MoveSeconds& moves)
      : program_(program),
        graph_(program.graph),
        choice_(choice),
        basis_(basis),
        local_(Localize(program.graph, kRank)),
        moves_(moves),
        sharing_(RanksSharingCores(basis.cluster, kRank, mesh.size())) {}

  absl::StatusOr<LayerCost> Run() {
    cost_.reads = program_.reads;
    cost_.makes = program_.makes;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->role == Role::kParameter) AddWeight(node);
      const bool source = node.op->is_state() || node.op->role == Role::kInput || node.op->role == Role::kConstant;
      if (source) continue;
      if (node.op->move)
        AddMove(id);
      else
        RETURN_IF_ERROR(AddKernel(id));
    }
    return std::move(cost_);
  }

 private:
  double BytesHere(ValueId value) const {
    const std::optional<LocalTensor>& held = local_.values[value];
    return held ? static_cast<double>(held->bytes()) : 0;
  }

  // Of the layer's own: what it reads of others stands for parameters as well.
  void AddWeight(const Node& node) {
    const std::string& name = graph_.value(node.outputs[0]).name;
    if (program_.read_names.contains(name)) return;
    const double bytes = basis_.copies_of_weights * BytesHere(node.outputs[0]);
    cost_.weight_bytes += bytes;
    if (!program_.by_rows) cost_.update += UpdateSeconds(bytes, basis_, sharing_);
  }

  void AddMove(NodeId id) {
    const Node& node = graph_.node(id);
    if (program_.brought_back.contains(graph_.name(id)) && !GathersIdle(node)) return;
    const bool synchronizes = node.op->move == MoveKind::kAllReduce && program_.synchronizing.contains(graph_.name(id));
    const double seconds = synchronizes ? moves_.OfBytesOf(graph_, node) : moves_.OfNode(graph_, node);
    if (synchronizes)
      cost_.synchronization += seconds;
    else
      (node.phase == Phase::kForward ? cost_.forward : cost_.backward) += seconds;
  }

  // Where ranks read whole values, an edge assumes that each rank has the whole gradient. The adjoint may compute it in
  // parts, which are then gathered.
  bool GathersIdle(const Node& move) const {
    if (move.op->move != MoveKind::kAllGather) return false;
    return std::ranges::all_of(MoveAxes(graph_, move), [&](int axis) { return ReadsWhole(choice_[axis]); });
  }

  absl::Status AddKernel(NodeId id) {
    const Node& node = graph_.node(id);
    const bool forward = node.phase == Phase::kForward;
    if (node.op->view || JoinsColumns(node) || !Runs(local_, node)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const LocalNode share, MakeLocalNode(graph_, local_, id));
    const double seconds = ComputeSeconds(share, basis_.times, basis_.cluster.KindOf(kRank), sharing_);
    (forward ? cost_.forward : cost_.backward) += seconds;
    ++(forward ? cost_.forward_launches : cost_.backward_launches);
    for (const ValueId output : node.outputs) cost_.activation_bytes += forward ? BytesHere(output) : 0;
    return absl::OkStatus();
  }

  // What it joins or takes apart is used where it lies (graph/lower/view_columns.h).
  bool JoinsColumns(const Node& node) const {
    const auto last = static_cast<int64_t>(graph_.type(node.outputs[0]).shape.size()) - 1;
    if (node.op->role == Role::kConcat) return node.attributes.Int("axis") == last;
    return node.op->role == Role::kSlice && LastDimensionAlone(node);
  }

  // Whether a slice takes all of every other dimension.
  bool LastDimensionAlone(const Node& node) const {
    const Shape& from = graph_.type(node.inputs[0]).shape;
    const Shape& to = graph_.type(node.outputs[0]).shape;
    return std::equal(from.begin(), from.end() - 1, to.begin());
  }

  const LayerProgram& program_;
  const Graph& graph_;
  const Choice& choice_;
  const CostBasis& basis_;
  const LocalGraph local_;
  MoveSeconds& moves_;
  const int sharing_;
  LayerCost cost_;
};

}  // namespace

LayerCosts::LayerCosts(const LayerGraph& layers, Mesh mesh, const CostBasis& basis)
    : layers_(layers), mesh_(std::move(mesh)), basis_(basis), moves_(mesh_, basis.cluster) {
  std::map<std::string, int> known;
  for (const OpLayer& layer : layers.layers)
    signature_of_[layer.nodes[0]] = known.try_emplace(SignatureOf(layer), static_cast<int>(known.size())).first->second;
}

const absl::StatusOr<LayerCost>& LayerCosts::Of(const OpLayer& layer, const Choice& choice) {
  const std::pair<int, Choice> key{signature_of_.at(layer.nodes[0]), choice};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const bool for_gpu = basis_.cluster.KindOf(kRank).backend == BackendKind::kCuda;
  const auto cost = [&]() -> absl::StatusOr<LayerCost> {
    ASSIGN_OR_RETURN(const LayerProgram program,
                     MakeLayerProgram(layers_, layer, mesh_, choice, basis_.registry, for_gpu));
    return Reckoner(program, choice, mesh_, basis_, moves_).Run();
  };
  return known_.emplace(key, cost()).first->second;
}

SharedCost LayerCosts::OfShared(ValueId parameter, const Layout& layout, uint32_t sums) {
  const TensorType& type = layers_.graph.type(parameter);
  const std::optional<Box> box = LocalBox(layout, type.shape, mesh_, kRank);
  const double bytes = box ? static_cast<double>(box->elements() * SizeOf(type.dtype)) : 0;
  SharedCost cost;
  cost.weight_bytes = basis_.copies_of_weights * bytes;
  cost.update = UpdateSeconds(cost.weight_bytes, basis_, RanksSharingCores(basis_.cluster, kRank, mesh_.size()));
  if (sums == 0) return cost;
  const double seconds = moves_.OfCollective(CollectiveKind::kAllReduce, sums, bytes);
  cost.synchronization = std::max(seconds - moves_.OfCollective(CollectiveKind::kAllReduce, sums, 1), 0.0);
  return cost;
}

// Ops with attributes and types, and where each input comes from: a node of the layer, or how it is given.
std::string LayerCosts::SignatureOf(const OpLayer& layer) const {
  const Graph& graph = layers_.graph;
  std::map<ValueId, std::string> places;
  for (const ValueId value : layer.reads) places[value] = layers_.wanted[value] ? "wanted" : "given";
  std::string text;
  for (const NodeId id : layer.nodes) {
    const Node& node = graph.node(id);
    text += node.op->name;
    for (const auto& [name, value] : node.attributes.entries()) {
      if (name != "key") text += fmt::format(" {}={}", name, ToString(value));
    }
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) {
        text += " -";
        continue;
      }
      const Node& producer = graph.node(graph.value(input).producer);
      const std::string& place =
          places.try_emplace(input, producer.op->name + std::to_string(places.size())).first->second;
      text += fmt::format(" {}{}:{}", Name(graph.type(input).dtype), ToString(graph.type(input).shape), place);
    }
    for (const ValueId output : node.outputs) {
      places[output] = fmt::format("n{}", places.size());
      text += fmt::format(" ->{}", places[output]);
    }
    text += ";";
  }
  for (const ValueId value : layer.makes) text += places[value] + (layers_.wanted[value] ? "!" : "?");
  return text;
}

}  // namespace partita
