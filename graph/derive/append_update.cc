#include "graph/derive/append_update.h"

#include <algorithm>
#include <functional>

#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/moves/plan_move.h"
#include "graph/optimizer/optimizer.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Update {
 public:
  // `optimizer` is complete.
  Update(LayoutBuilder& builder, const Optimizer& optimizer, const LearningRate& rate, ValueId iteration)
      : builder_(builder),
        clip_norm_(optimizer.clip_norm),
        rule_(FindOptimizer(optimizer.name, builder.registry().optimizers())->rule(optimizer.attributes)),
        rate_config_(rate),
        iteration_(iteration) {}

  absl::Status Run(const std::map<ValueId, ValueId>& gradients) {
    if (gradients.empty() &&
        std::ranges::all_of(graph().states(), [](const State& s) { return s.update == kNoValue; })) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const ValueId squares, SumOfSquares(gradients));
    RETURN_IF_ERROR(Apply(squares));
    RETURN_IF_ERROR(GateForward());
    if (gradients.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Clip(squares));
    RETURN_IF_ERROR(Rate(graph().type(gradients.begin()->second).dtype));
    for (const auto& [parameter, gradient] : gradients) RETURN_IF_ERROR(Parameter(parameter, gradient));
    // Behind all of them, so that they can be one launch.
    for (const auto& [parameter, result] : updated_) SetUpdate(parameter, result);
    ASSIGN_OR_RETURN(const ValueId next,
                     Add(Role::kIncrement, {iteration_, apply_}, {}, std::string(kIterationName) + "@new"));
    graph().SetUpdate(iteration_, next);
    return absl::OkStatus();
  }

 private:
  Graph& graph() { return builder_.graph(); }

  // The op in this role, which has one output.
  absl::StatusOr<ValueId> Add(Role role, std::vector<ValueId> inputs, Attributes attributes, const std::string& name) {
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                     Append(builder_.registry().Get(role).name, std::move(inputs), std::move(attributes), {name}));
    return outputs[0];
  }

  absl::StatusOr<std::vector<ValueId>> Append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                              std::vector<std::string> names) {
    NodeRequest request;
    request.op = op;
    request.inputs = std::move(inputs);
    request.attributes = std::move(attributes);
    request.names = std::move(names);
    request.phase = Phase::kUpdate;
    return builder_.Add(request);
  }

  void SetUpdate(ValueId state, ValueId update) {
    graph().SetUpdate(state, builder_.MoveTo(update, graph().layout(state), Phase::kUpdate));
  }

  // Of all gradients, on every rank; kNoValue: nobody asks for it.
  absl::StatusOr<ValueId> SumOfSquares(const std::map<ValueId, ValueId>& gradients) {
    if (clip_norm_ <= 0 || gradients.empty()) return kNoValue;
    std::map<int, std::vector<ValueId>, std::greater<>> squares;  // by mesh, the first one last
    for (const auto& [parameter, gradient] : gradients) {
      // Several parameters may have one gradient: each of them counts.
      const std::string name = graph().UniqueName(graph().value(gradient).name + "@squares");
      ASSIGN_OR_RETURN(const ValueId square, Add(Role::kSumOfSquares, {gradient}, {}, name));
      const Mesh& mesh = graph().mesh(gradient);
      squares[mesh.id].push_back(builder_.MoveTo(square, Summands(mesh), Phase::kUpdate));
    }
    std::vector<ValueId>& all = squares[0];
    for (auto& [mesh, own] : squares) {
      if (mesh == 0) break;
      const std::string name = graph().UniqueName("@norm@squares@mesh");
      ASSIGN_OR_RETURN(const ValueId sum, Add(Role::kAdd, own, {}, name));
      all.push_back(builder_.MoveTo(sum, Summands(graph().mesh()), Phase::kUpdate));
    }
    ASSIGN_OR_RETURN(const ValueId sum, Add(Role::kAdd, all, {}, "@norm@squares"));
    return builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
  }

  // `value` as a number of the type of `like`.
  absl::StatusOr<ValueId> As(ValueId like, ValueId value, const std::string& name) {
    if (value == kNoValue || graph().type(value).dtype == graph().type(like).dtype) return value;
    return Add(Role::kCast, {value}, {{"dtype", std::string(Name(graph().type(like).dtype))}}, name);
  }

  // The sum of all losses, on every rank: it is finite where they are.
  absl::StatusOr<ValueId> Losses() {
    const Layout everywhere = Replicated(graph().mesh());
    const ValueId loss = builder_.MoveTo(graph().loss, everywhere, Phase::kUpdate);
    const std::vector<FurtherLoss> further_losses = graph().further_losses;
    if (further_losses.empty()) return loss;
    std::vector<ValueId> losses = {loss};
    for (const FurtherLoss& further : further_losses) {
      const ValueId value = builder_.MoveTo(further.value, everywhere, Phase::kUpdate);
      ASSIGN_OR_RETURN(const ValueId term, As(loss, value, graph().UniqueName(graph().value(value).name + "@cast")));
      losses.push_back(term);
    }
    return Add(Role::kAdd, std::move(losses), {}, "@losses");
  }

  absl::Status Apply(ValueId squares) {
    ASSIGN_OR_RETURN(const ValueId loss, Losses());
    ASSIGN_OR_RETURN(squares, As(loss, squares, "@norm@squares@cast"));
    ASSIGN_OR_RETURN(apply_, Add(Role::kAllFinite, {loss, squares}, {}, "@apply"));
    graph().apply = apply_;
    return absl::OkStatus();
  }

  // Nodes of the forward pass that update states stand again behind `apply`, which they read now; nobody needs the
  // first ones any more.
  absl::Status GateForward() {
    std::map<NodeId, NodeId> gated;
    for (size_t s = 0; s < graph().states().size(); ++s) {
      const State state = graph().states()[s];
      if (state.update == kNoValue) continue;
      const ValueId update = BeforeMoves(graph(), state.update);
      const NodeId id = graph().value(update).producer;
      if (!gated.contains(id)) {
        ASSIGN_OR_RETURN(gated[id], Gated(id));
      }
      const auto place = std::ranges::find(graph().node(id).outputs, update) - graph().node(id).outputs.begin();
      SetUpdate(state.value, graph().node(gated[id]).outputs[place]);
    }
    return absl::OkStatus();
  }

  // The same node once more, lying as it lies.
  absl::StatusOr<NodeId> Gated(NodeId id) {
    const int gate = GateOf(*graph().node(id).op);
    if (gate < 0) {
      return Internal("node '{}' updates a state, and its op '{}' has no gate", graph().name(id),
                      graph().node(id).op->name);
    }
    Node node = graph().node(id);
    Layout layout = graph().layout(node.outputs[0]);
    for (AxisLayout& axis : layout) {
      if (!axis.at()) axis = AxisLayout::Replicate();
    }
    node.inputs[gate] = builder_.MoveTo(apply_, layout, Phase::kUpdate);
    node.phase = Phase::kUpdate;
    std::vector<Value> outputs;
    for (const ValueId output : node.outputs) {
      outputs.push_back(graph().value(output));
      outputs.back().name += "@new";
    }
    return graph().AddNode(std::move(node), std::move(outputs));
  }

  absl::Status Clip(ValueId squares) {
    if (squares == kNoValue) return absl::OkStatus();
    ASSIGN_OR_RETURN(clip_, Add(Role::kClipScale, {squares}, {{"max_norm", clip_norm_}}, "@clip"));
    return absl::OkStatus();
  }

  // P over every axis of more than one rank.
  static Layout Summands(const Mesh& mesh) {
    Layout layout = Replicated(mesh);
    for (size_t a = 0; a < layout.size(); ++a) {
      if (mesh.axes[a].size > 1) layout[a] = AxisLayout::Partial();
    }
    return layout;
  }

  absl::Status Rate(DType dtype) {
    Attributes attributes = AttributesOf(rate_config_);
    attributes.Set("dtype", std::string(Name(dtype)));
    ASSIGN_OR_RETURN(rate_, Add(Role::kLearningRate, {iteration_}, std::move(attributes), "@learning_rate"));
    return absl::OkStatus();
  }

  absl::Status Parameter(ValueId parameter, ValueId gradient) {
    const Value value = graph().value(parameter);
    const Layout layout = graph().layout(gradient);
    std::vector<ValueId> inputs = {builder_.MoveTo(parameter, layout, Phase::kUpdate), gradient};
    std::vector<std::string> names = {value.name + "@new"};
    for (const Slot& slot : rule_.slots) {
      const std::string name = value.name + "@" + slot.name;
      ASSIGN_OR_RETURN(const ValueId state,
                       builder_.AddSource(builder_.registry().Get(Role::kState),
                                          StateAttributes(value.type, slot.initial), name, layout, Phase::kUpdate));
      inputs.push_back(state);
      names.push_back(name + "@new");
    }
    AddScalars(inputs);
    ASSIGN_OR_RETURN(const std::vector<ValueId> results, Append(rule_.op, inputs, rule_.attributes, std::move(names)));
    updated_.emplace_back(parameter, results[0]);
    for (size_t s = 0; s < rule_.slots.size(); ++s) graph().AddState({inputs[2 + s], results[1 + s]});
    graph().SetGradient(parameter, gradient);
    return absl::OkStatus();
  }

  // What the update's op asks for behind the tensors.
  void AddScalars(std::vector<ValueId>& inputs) {
    const std::map<std::string, ValueId> scalars = {
        {"rate", rate_}, {"apply", apply_}, {"clip", clip_}, {"iteration", iteration_}};
    const OpDefinition& op = *builder_.registry().Find(rule_.op);
    while (inputs.size() < op.inputs.size()) {
      const auto scalar = scalars.find(op.inputs[inputs.size()].name);
      CHECK(scalar != scalars.end());
      inputs.push_back(scalar->second);
    }
  }

  LayoutBuilder& builder_;
  const double clip_norm_;
  const UpdateRule rule_;
  const LearningRate& rate_config_;
  const ValueId iteration_;
  ValueId apply_ = kNoValue;
  ValueId rate_ = kNoValue;
  ValueId clip_ = kNoValue;
  std::vector<std::pair<ValueId, ValueId>> updated_;  // parameters and what they become, where it was computed
};

}  // namespace

absl::Status AppendUpdate(LayoutBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                          const Optimizer& optimizer, const LearningRate& rate, ValueId iteration) {
  ASSIGN_OR_RETURN(const Optimizer complete, CompleteOptimizer(optimizer, builder.registry().optimizers()));
  return Update(builder, complete, rate, iteration).Run(gradients);
}

}  // namespace partita
