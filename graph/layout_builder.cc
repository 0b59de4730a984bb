#include "graph/layout_builder.h"

#include "graph/choose_layout.h"
#include "graph/moves/move_ops.h"
#include "graph/moves/plan_move.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::vector<ValueId>> LayoutBuilder::Add(const NodeRequest& request) {
  const OpDefinition* op = registry_.Find(request.op);
  CHECK(op != nullptr);
  // Of what a person has named: a node that was made for it carries more behind '@'.
  const auto refusal = [&](const absl::Status& status) {
    return WithContext(fmt::format("node '{}'", request.names[0].substr(0, request.names[0].find('@'))), status);
  };
  ASSIGN_OR_RETURN(Attributes attributes, CompleteAttributes(*op, request.attributes));

  LayoutRequest choice{op, NodeView{attributes, {}, {}}, {}, request.configs, request.keep_lead, &graph_.mesh()};
  std::vector<ValueId> inputs = request.inputs;
  choice.inputs.reserve(inputs.size());
  choice.view.inputs.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FreeSource* free = i < request.free.size() ? request.free[i] : nullptr;
    InputState state;
    if (free != nullptr) {
      state.type = &free->type;
    } else if (inputs[i] != kNoValue) {
      inputs[i] = Resolved(inputs[i]);
      const Value& value = graph_.value(inputs[i]);
      const size_t declared = std::min(i, op->inputs.size() - 1);
      state = {&value.type, &value.layout, !op->inputs[declared].parameter};
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
    const absl::Status legal = CheckLayout(layouts->inputs[i], choice.inputs[i].type->shape, graph_.mesh());
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
    const absl::Status legal = CheckLayout(layouts->outputs[o], (*types)[o].shape, graph_.mesh());
    if (!legal.ok()) return refusal(legal);
    outputs.push_back({request.names[o], std::move((*types)[o]), std::move(layouts->outputs[o]), -1});
  }
  const NodeId id = graph_.AddNode(std::move(node), std::move(outputs));
  return graph_.node(id).outputs;
}

absl::StatusOr<ValueId> LayoutBuilder::AddSource(const std::string& op_name, Attributes attributes,
                                                 const std::string& name, Layout layout, Phase phase) {
  const OpDefinition* op = registry_.Find(op_name);
  CHECK(op != nullptr);
  ASSIGN_OR_RETURN(attributes, CompleteAttributes(*op, attributes));
  ASSIGN_OR_RETURN(std::vector<TensorType> types, op->shape(NodeView{attributes, {}, {}}));
  RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", name), CheckLayout(layout, types[0].shape, graph_.mesh())));
  const NodeId id =
      graph_.AddNode({op, std::move(attributes), {}, {}, phase}, {{name, types[0], std::move(layout), -1}});
  return graph_.node(id).outputs[0];
}

ValueId LayoutBuilder::Place(const FreeSource& source, const Layout& wanted) {
  const ValueId placed = graph_.Find(source.name);
  if (placed != kNoValue) return placed;  // an earlier input of the same node
  Layout layout = wanted;
  for (size_t a = 0; a < source.fixed.size(); ++a) {
    if (source.fixed[a]) layout[a] = *source.fixed[a];
  }
  const NodeId id =
      graph_.AddNode({source.op, source.attributes, {}, {}, Phase::kForward}, {{source.name, source.type, layout, -1}});
  return graph_.node(id).outputs[0];
}

// A P axis becomes R first, shared by all consumers, unless the strategy asked for this consumer's layout: then it is
// one move.
ValueId LayoutBuilder::Bring(ValueId value, const Layout& wanted, const NodeRequest& request) {
  Layout resolved = graph_.layout(value);
  for (size_t a = 0; a < wanted.size(); ++a) {
    const bool named = a < request.configs.size() && request.configs[a].has_value();
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
  const ValueId origin = value;
  const std::vector<MoveStep> steps = PlanMove(graph_.layout(value), layout, graph_.type(value).shape, graph_.mesh());
  for (const MoveStep& step : steps) {
    ValueId next = kNoValue;
    for (ValueId earlier : moved_[origin]) {
      if (graph_.layout(earlier) == step.to) next = earlier;
    }
    if (next == kNoValue) {
      next = AddMove(step.op, step.axes, value, step.to, phase);
      moved_[origin].push_back(next);
    }
    value = next;
  }
  return value;
}

ValueId LayoutBuilder::AddMove(const std::string& op_name, const std::vector<int>& axes, ValueId value,
                               const Layout& layout, Phase phase) {
  const OpDefinition* op = registry_.Find(op_name);
  CHECK(op != nullptr);
  const std::string name = graph_.UniqueName(graph_.value(value).name + "@" + op_name);
  const Attributes attributes{{"axes", AxesName(axes, graph_.mesh())}};
  const NodeId id =
      graph_.AddNode({op, attributes, {value}, {}, phase, micro_batch_}, {{name, graph_.type(value), layout, -1}});
  return graph_.node(id).outputs[0];
}

}  // namespace partita
