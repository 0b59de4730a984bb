#include "graph/derive/layout_builder.h"

#include <algorithm>

#include "graph/derive/adjoint.h"
#include "graph/derive/choose_layout.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/moves/plan_move.h"
#include "graph/moves/plan_reshard.h"
#include "runtime/base/status.h"

namespace partita {

LayoutBuilder::LayoutBuilder(Graph& graph, const OpRegistry& registry) : graph_(graph), registry_(registry) {
  for (const Node& node : graph.nodes()) {
    const auto moves = [](const Node& each) { return each.op->move && each.inputs.size() == 1; };
    if (!moves(node)) continue;
    // The last of several moves is a result of moves of each value on its way.
    for (const Node* from = &node; moves(*from); from = &graph.node(graph.value(from->inputs[0]).producer)) {
      moved_[from->inputs[0]].push_back(node.outputs[0]);
    }
  }
}

absl::StatusOr<std::vector<ValueId>> LayoutBuilder::Add(const NodeRequest& request) {
  const OpDefinition* op = registry_.Find(request.op);
  CHECK(op != nullptr);
  // Of what a person has named.
  const auto refusal = [&](const absl::Status& status) {
    return WithContext(fmt::format("node '{}'", UserNameOf(request.names[0])), status);
  };
  ASSIGN_OR_RETURN(Attributes attributes, CompleteAttributes(*op, request.attributes));

  const Mesh& mesh = graph_.meshes()[MeshOf(request, *op)];
  LayoutRequest choice{op, NodeView{attributes, {}, {}}, {}, request.config.axes, request.keep_lead, &mesh};
  std::vector<ValueId> inputs = request.inputs;
  choice.inputs.reserve(inputs.size());
  choice.view.inputs.reserve(inputs.size());
  const Layout like = request.like == kNoValue ? Layout() : DualLayout(graph_.layout(request.like));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FreeSource* free = i < request.free.size() ? request.free[i] : nullptr;
    InputState state;
    if (i == 0 && request.like != kNoValue) {
      state = {&graph_.type(request.like), &like, true};
    } else if (free != nullptr) {
      state.type = &free->type;
    } else if (inputs[i] != kNoValue) {
      inputs[i] = Resolved(inputs[i]);
      const Value& value = graph_.value(inputs[i]);
      const size_t declared = std::min(i, op->inputs.size() - 1);
      const bool here = value.layout.mesh == mesh.id;
      state = {&value.type, here ? &value.layout : nullptr, here && !op->inputs[declared].parameter};
    }
    choice.inputs.push_back(state);
    choice.view.inputs.push_back(state.type);
  }
  auto types = op->shape(choice.view);
  if (!types.ok()) return refusal(types.status());
  choice.view.outputs = *types;
  auto layouts = ChooseLayouts(choice);
  if (!layouts.ok()) return refusal(layouts.status());

  // All of them before the first move: what is appended moves the graph's values, at which `choice` points.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (choice.inputs[i].type == nullptr) continue;
    const absl::Status legal = CheckLayout(layouts->inputs[i], choice.inputs[i].type->shape, mesh);
    if (!legal.ok()) return refusal(legal);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FreeSource* free = i < request.free.size() ? request.free[i] : nullptr;
    if (free != nullptr) inputs[i] = Place(*free, layouts->inputs[i]);
    if (inputs[i] != kNoValue) inputs[i] = Bring(inputs[i], layouts->inputs[i], request);
  }
  Node node{op, std::move(attributes), std::move(inputs), {}, request.phase, micro_batch_};
  std::vector<Value> outputs;
  outputs.reserve(types->size());
  for (size_t o = 0; o < types->size(); ++o) {
    CHECK(o < request.names.size());
    const absl::Status legal = CheckLayout(layouts->outputs[o], (*types)[o].shape, mesh);
    if (!legal.ok()) return refusal(legal);
    outputs.push_back({request.names[o], std::move((*types)[o]), std::move(layouts->outputs[o]), -1});
  }
  const NodeId id = graph_.AddNode(std::move(node), std::move(outputs));
  return graph_.node(id).outputs;
}

absl::StatusOr<ValueId> LayoutBuilder::AddSource(const OpDefinition& op, Attributes attributes, const std::string& name,
                                                 Layout layout, Phase phase) {
  ASSIGN_OR_RETURN(attributes, CompleteAttributes(op, attributes));
  ASSIGN_OR_RETURN(std::vector<TensorType> types, op.shape(NodeView{attributes, {}, {}}));
  RETURN_IF_ERROR(
      WithContext(fmt::format("node '{}'", name), CheckLayout(layout, types[0].shape, graph_.mesh(layout))));
  const NodeId id =
      graph_.AddNode({&op, std::move(attributes), {}, {}, phase}, {{name, types[0], std::move(layout), -1}});
  return graph_.node(id).outputs[0];
}

int LayoutBuilder::MeshOf(const NodeRequest& request, const OpDefinition& op) const {
  if (request.config.mesh >= 0) return request.config.mesh;
  if (request.like != kNoValue) return graph_.layout(request.like).mesh;
  int mesh = -1;  // of the first input that has one
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const FreeSource* free = i < request.free.size() ? request.free[i] : nullptr;
    if (free != nullptr && mesh < 0) mesh = free->mesh;
    if (free != nullptr || request.inputs[i] == kNoValue) continue;
    const int own = graph_.layout(request.inputs[i]).mesh;
    if (!op.inputs[std::min(i, op.inputs.size() - 1)].parameter) return own;
    if (mesh < 0) mesh = own;
  }
  return std::max(mesh, 0);
}

// What is fixed holds. Over the other axes it lies as its consumer wants it, in blocks without ghosts, where that fits
// what is fixed; else it is whole there.
Layout LayoutBuilder::LayoutOf(const FreeSource& source, const Layout& wanted) const {
  // A counter lies on every rank: from there every mesh has it for nothing.
  const bool counter = source.op->role == Role::kState && source.type.shape.empty();
  const Mesh& mesh = graph_.meshes()[source.mesh >= 0 ? source.mesh : counter ? 0 : wanted.mesh];
  Layout layout = Replicated(mesh);
  for (size_t a = 0; a < source.fixed.size(); ++a) {
    if (source.fixed[a]) layout[a] = *source.fixed[a];
  }
  for (size_t a = 0; mesh.id == wanted.mesh && a < wanted.size(); ++a) {
    if ((a < source.fixed.size() && source.fixed[a]) || wanted[a].replicated()) continue;
    Layout more = layout;
    more[a] = wanted[a].windows ? AxisLayout::Split(wanted[a].dimension) : wanted[a];
    if (CheckLayout(more, source.type.shape, mesh).ok()) layout = std::move(more);
  }
  return layout;
}

ValueId LayoutBuilder::Place(const FreeSource& source, const Layout& wanted) {
  const ValueId placed = graph_.Find(source.name);
  if (placed != kNoValue) return placed;  // an earlier input of the same node
  const NodeId id = graph_.AddNode({source.op, source.attributes, {}, {}, Phase::kForward},
                                   {{source.name, source.type, LayoutOf(source, wanted), -1}});
  return graph_.node(id).outputs[0];
}

// A P axis becomes R first, shared by all consumers, unless the strategy asked for this consumer's layout: then it is
// one move.
ValueId LayoutBuilder::Bring(ValueId value, const Layout& wanted, const NodeRequest& request) {
  if (graph_.layout(value) == wanted) return value;
  Layout resolved = graph_.layout(value);
  if (resolved.mesh != wanted.mesh) return MoveTo(value, wanted, request.phase);
  for (size_t a = 0; a < wanted.size(); ++a) {
    const bool named = a < request.config.axes.size() && request.config.axes[a].has_value();
    if (resolved[a].partial() && !wanted[a].partial() && !named) resolved[a] = AxisLayout::Replicate();
  }
  if (resolved != graph_.layout(value)) {
    const ValueId result = MoveTo(value, resolved, request.phase);
    resolved_[value] = result;
    value = result;
  }
  return MoveTo(value, wanted, request.phase);
}

ValueId LayoutBuilder::Resolved(ValueId value) const {
  auto found = resolved_.find(value);
  return found == resolved_.end() ? value : found->second;
}

ValueId LayoutBuilder::MoveTo(ValueId value, const Layout& layout, Phase phase) {
  if (graph_.layout(value).mesh != layout.mesh) value = ToMeshOf(layout, value, phase);
  const ValueId origin = value;
  const std::vector<MoveStep> steps =
      PlanMove(graph_.layout(value), layout, graph_.type(value).shape, graph_.mesh(layout));
  for (const MoveStep& step : steps) {
    ValueId next = kNoValue;
    for (ValueId earlier : moved_[origin]) {
      if (graph_.layout(earlier) == step.to) next = earlier;
    }
    if (next == kNoValue) {
      next = AddMove(step.kind, step.axes, value, step.to, phase);
      moved_[origin].push_back(next);
    }
    value = next;
  }
  return value;
}

ValueId LayoutBuilder::ToMeshOf(const Layout& layout, ValueId value, Phase phase) {
  const Layout arrival = ArrivalFor(layout);
  value = MoveTo(value, DepartureFor(graph_.layout(value), arrival, graph_.type(value), graph_.meshes()), phase);
  for (ValueId earlier : moved_[value]) {
    if (graph_.layout(earlier) == arrival) return earlier;
  }
  const ValueId arrived = AddMove(MoveKind::kReshard, {}, value, arrival, phase);
  moved_[value].push_back(arrived);
  return arrived;
}

ValueId LayoutBuilder::AddMove(MoveKind kind, const std::vector<int>& axes, ValueId value, const Layout& layout,
                               Phase phase) {
  const OpDefinition* const op = &registry_.Get(kind);
  const std::string name = graph_.UniqueName(graph_.value(value).name + "@" + op->name);
  Attributes attributes;
  if (kind != MoveKind::kReshard) attributes.Set("axes", AxesName(axes, graph_.mesh(layout)));
  for (const AttributeDefinition& attribute : op->attributes) {
    if (attribute.has_default()) attributes.Set(attribute.name, attribute.type_and_default);
  }
  const NodeId id = graph_.AddNode({op, std::move(attributes), {value}, {}, phase, micro_batch_},
                                   {{name, graph_.type(value), layout, -1}});
  return graph_.node(id).outputs[0];
}

}  // namespace partita
