#include "graph/derive/append_update.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "graph/derive/append_averages.h"
#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/moves/plan_move.h"
#include "graph/optimizer/optimizer.h"
#include "graph/optimizer/parameter_groups.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Update {
 public:
  // `optimizer` is complete.
  Update(LayoutBuilder& builder, const std::map<ValueId, RowGradient>& by_rows, const Optimizer& optimizer,
         const LearningRate& rate, ValueId iteration)
      : builder_(builder), by_rows_(by_rows), optimizer_(optimizer), rate_config_(rate), iteration_(iteration) {}

  absl::Status Run(const std::map<ValueId, ValueId>& gradients) {
    if (gradients.empty() &&
        std::ranges::all_of(graph().states(), [](const State& s) { return s.update == kNoValue; })) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(group_of_, GroupsOfParameters(gradients));
    for (const auto& [parameter, group] : group_of_) {
      if (!rules_.contains(group)) rules_.emplace(group, RuleOf(group));
    }
    ASSIGN_OR_RETURN(const auto squares, SumsOfSquares(gradients));
    RETURN_IF_ERROR(Apply(squares));
    RETURN_IF_ERROR(GateForward());
    if (gradients.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Clip(squares));
    RETURN_IF_ERROR(Rate(graph().type(gradients.begin()->second).dtype));
    for (const auto& [parameter, gradient] : gradients) RETURN_IF_ERROR(Parameter(parameter, gradient));
    // Behind all of them, so that they can be one launch.
    for (const auto& [parameter, result] : updated_) SetUpdate(parameter, result);
    RETURN_IF_ERROR(AppendAverages(builder_, optimizer_, {rate_, apply_, iteration_}));
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

  absl::StatusOr<std::map<ValueId, int>> GroupsOfParameters(const std::map<ValueId, ValueId>& gradients) {
    std::vector<std::string> names;
    for (const auto& [parameter, gradient] : gradients) names.push_back(graph().value(parameter).name);
    ASSIGN_OR_RETURN(const std::vector<int> groups, GroupsOf(optimizer_, names));
    std::map<ValueId, int> group_of;
    for (const auto& [parameter, gradient] : gradients) group_of[parameter] = groups[group_of.size()];
    return group_of;
  }

  // With which other parameters it is clipped: those of its group, if that has a norm; else (-1) all that have none.
  int ClippedWith(ValueId parameter) const {
    const int group = group_of_.at(parameter);
    return group >= 0 && optimizer_.groups[static_cast<size_t>(group)].clip_norm ? group : -1;
  }

  double ScaleOf(ValueId parameter) const {
    const int group = group_of_.at(parameter);
    return group < 0 ? 1 : GradientScale(optimizer_.groups[static_cast<size_t>(group)]);
  }

  double NormOf(int clipped) const {
    return clipped < 0 ? optimizer_.clip_norm : *optimizer_.groups[static_cast<size_t>(clipped)].clip_norm;
  }

  // Of the gradients of the parameters that are clipped together, where they are clipped, on every rank.
  absl::StatusOr<std::map<int, ValueId>> SumsOfSquares(const std::map<ValueId, ValueId>& gradients) {
    std::map<int, std::map<ValueId, ValueId>> together;
    for (const auto& [parameter, gradient] : gradients) together[ClippedWith(parameter)].emplace(parameter, gradient);
    std::map<int, ValueId> sums;
    for (const auto& [clipped, all] : together) {
      if (NormOf(clipped) <= 0) continue;
      ASSIGN_OR_RETURN(sums[clipped], SumOfSquares(all));
    }
    return sums;
  }

  // Sums of squares that are added up before anything else happens to them: they lie alike, and their gradients are
  // scaled alike. On a GPU they and their sum are one launch (graph/lower/join_norms.h).
  struct Squares {
    Layout layout;
    double scale = 1;
    std::vector<ValueId> sums;
  };

  absl::StatusOr<ValueId> SumOfSquares(const std::map<ValueId, ValueId>& gradients) {
    ASSIGN_OR_RETURN(const auto squares, SquaresByMesh(gradients));
    std::vector<ValueId> all;  // on the first mesh
    for (const auto& [mesh, alike] : squares) {
      ASSIGN_OR_RETURN(std::vector<ValueId> terms, TermsOf(alike));
      if (mesh == 0) {
        all.insert(all.begin(), terms.begin(), terms.end());
        continue;
      }
      for (ValueId& term : terms) term = AsSummand(term, graph().mesh(term));
      ASSIGN_OR_RETURN(const ValueId sum, Sum(terms, "@norm@squares@mesh"));
      all.push_back(AsSummand(sum, graph().mesh()));
    }
    if (all.size() > 1) {
      for (ValueId& term : all) term = AsSummand(term, graph().mesh());
    }
    ASSIGN_OR_RETURN(const ValueId sum, Sum(all, "@norm@squares"));
    return builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
  }

  // By mesh, the first one last. Several parameters may have one gradient: each of them counts.
  absl::StatusOr<std::map<int, std::vector<Squares>, std::greater<>>> SquaresByMesh(
      const std::map<ValueId, ValueId>& gradients) {
    std::map<int, std::vector<Squares>, std::greater<>> squares;
    for (const auto& [parameter, dense] : gradients) {
      const auto rows = by_rows_.find(parameter);
      const ValueId gradient = rows == by_rows_.end() ? dense : rows->second.rows;
      const std::string name = graph().UniqueName(graph().value(gradient).name + "@squares");
      ASSIGN_OR_RETURN(const ValueId own, Add(Role::kSumOfSquares, {gradient}, {}, name));
      const Layout& layout = graph().layout(own);
      const double scale = ScaleOf(parameter);
      std::vector<Squares>& of_mesh = squares[graph().mesh(own).id];
      auto alike = std::ranges::find_if(
          of_mesh, [&](const Squares& other) { return other.layout == layout && other.scale == scale; });
      if (alike == of_mesh.end()) alike = of_mesh.insert(alike, {layout, scale, {}});
      alike->sums.push_back(own);
    }
    return squares;
  }

  // The scaled sum of each.
  absl::StatusOr<std::vector<ValueId>> TermsOf(const std::vector<Squares>& squares) {
    std::vector<ValueId> terms;
    for (const Squares& alike : squares) {
      ASSIGN_OR_RETURN(const ValueId sum, Sum(alike.sums, "@norm@squares@alike"));
      ASSIGN_OR_RETURN(const ValueId term, Times(alike.scale * alike.scale, sum));
      terms.push_back(term);
    }
    return terms;
  }

  absl::StatusOr<ValueId> Sum(const std::vector<ValueId>& terms, const std::string& name) {
    if (terms.size() == 1) return terms[0];
    return Add(Role::kAdd, terms, {}, graph().UniqueName(name));
  }

  ValueId AsSummand(ValueId value, const Mesh& mesh) { return builder_.MoveTo(value, Summands(mesh), Phase::kUpdate); }

  // Of all that is clipped; kNoValue: nothing is.
  absl::StatusOr<ValueId> AllSquares(const std::map<int, ValueId>& squares) {
    if (squares.empty()) return kNoValue;
    if (squares.size() == 1) return squares.begin()->second;
    std::vector<ValueId> all;
    for (const auto& [clipped, sum] : squares) all.push_back(sum);
    ASSIGN_OR_RETURN(const ValueId sum, Add(Role::kAdd, all, {}, "@norm@squares@all"));
    return builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
  }

  // `value` as a number of the type of `like`.
  absl::StatusOr<ValueId> As(ValueId like, ValueId value, const std::string& name) {
    if (value == kNoValue || graph().type(value).dtype == graph().type(like).dtype) return value;
    return Add(Role::kCast, {value}, {{"dtype", std::string(Name(graph().type(like).dtype))}}, name);
  }

  // The sum of all losses, and of metrics that stand for labels which no loss reads, on every rank: it is finite where
  // all of them are.
  absl::StatusOr<ValueId> Losses() {
    const Layout everywhere = Replicated(graph().mesh());
    std::vector<ValueId> others = IndexMetrics(graph());
    for (const FurtherLoss& further : graph().further_losses) others.push_back(further.value);
    const ValueId loss = builder_.MoveTo(graph().loss, everywhere, Phase::kUpdate);
    if (others.empty()) return loss;
    std::vector<ValueId> losses = {loss};
    for (const ValueId other : others) {
      const ValueId value = builder_.MoveTo(other, everywhere, Phase::kUpdate);
      ASSIGN_OR_RETURN(const ValueId term, As(loss, value, graph().UniqueName(graph().value(value).name + "@cast")));
      losses.push_back(term);
    }
    return Add(Role::kAdd, std::move(losses), {}, "@losses");
  }

  absl::Status Apply(const std::map<int, ValueId>& sums) {
    ASSIGN_OR_RETURN(const ValueId loss, Losses());
    ASSIGN_OR_RETURN(ValueId squares, AllSquares(sums));
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

  absl::Status Clip(const std::map<int, ValueId>& squares) {
    for (const auto& [clipped, sum] : squares) {
      ASSIGN_OR_RETURN(clip_[clipped],
                       Add(Role::kClipScale, {sum}, {{"max_norm", NormOf(clipped)}}, graph().UniqueName("@clip")));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> Times(double factor, ValueId value) {
    if (factor == 1) return value;
    const std::string name = graph().UniqueName(graph().value(value).name + "@scaled");
    ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, Append("scale", {value}, {{"factor", factor}}, {name}));
    return outputs[0];
  }

  // What the update of a parameter multiplies its gradient by; kNoValue: nothing.
  absl::StatusOr<ValueId> FactorOf(ValueId parameter) {
    const auto clip = clip_.find(ClippedWith(parameter));
    const ValueId clipped = clip == clip_.end() ? kNoValue : clip->second;
    const double scale = ScaleOf(parameter);
    if (scale == 1) return clipped;
    const auto [found, fresh] = factors_.emplace(std::pair(clipped, scale), kNoValue);
    if (!fresh) return found->second;
    if (clipped != kNoValue) {
      ASSIGN_OR_RETURN(found->second, Times(scale, clipped));
      return found->second;
    }
    const Attributes constant{
        {"dtype", std::string(Name(graph().type(rate_).dtype))}, {"shape", Shape{}}, {"value", scale}};
    ASSIGN_OR_RETURN(found->second, builder_.AddSource(builder_.registry().Get(Role::kConstant), constant,
                                                       graph().UniqueName("@gradient_scale"),
                                                       Replicated(graph().mesh()), Phase::kUpdate));
    return found->second;
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

  UpdateRule RuleOf(int group) const {
    const OptimizerDefinition& definition = *FindOptimizer(optimizer_.name, builder_.registry().optimizers());
    if (group < 0) return definition.rule(optimizer_.attributes);
    const ParameterGroup& said = optimizer_.groups[static_cast<size_t>(group)];
    UpdateRule rule = definition.rule(GroupAttributes(optimizer_.attributes, said));
    rule.attributes.Set("rate_factor", said.rate);
    return rule;
  }

  absl::Status Parameter(ValueId parameter, ValueId gradient) {
    const UpdateRule& rule = rules_.at(group_of_.at(parameter));
    const auto rows = by_rows_.find(parameter);
    if (rows != by_rows_.end()) {
      const RowGradient& own = rows->second;
      RETURN_IF_ERROR(CheckRowUpdate(graph().value(parameter).name, rule));
      RETURN_IF_ERROR(Tensors(parameter, rule.op_of_rows, rule, {parameter, own.ids, own.rows}));
      graph().SetGradient(parameter, own.rows);
      return absl::OkStatus();
    }
    const ValueId moved = builder_.MoveTo(parameter, graph().layout(gradient), Phase::kUpdate);
    RETURN_IF_ERROR(Tensors(parameter, rule.op, rule, {moved, gradient}));
    graph().SetGradient(parameter, gradient);
    return absl::OkStatus();
  }

  // Those of the optimizers with their default attributes that can change single rows.
  std::vector<std::string> UpdatesByRows() {
    std::vector<std::string> updates;
    for (const OptimizerDefinition& definition : builder_.registry().optimizers()) {
      const auto defaults = CompleteAttributes("optimizer", definition.name, definition.attributes, {});
      if (!defaults.ok()) continue;
      const UpdateRule rule = definition.rule(*defaults);
      if (!rule.op_of_rows.empty()) updates.push_back("'" + rule.op + "'");
    }
    return updates;
  }

  absl::Status CheckRowUpdate(const std::string& name, const UpdateRule& rule) {
    if (rule.op_of_rows.empty()) {
      return InvalidArgument(
          "node '{}': row_gradients is true, and the update of the table is '{}'; expected {} (sgd "
          "with momentum 0), or row_gradients: false",
          name, rule.op, fmt::join(UpdatesByRows(), " or "));
    }
    if (!rule.attributes.Has("weight_decay") || rule.attributes.Float("weight_decay") == 0) return absl::OkStatus();
    return InvalidArgument(
        "node '{}': weight_decay is {}, which changes every row; with row_gradients it must be 0 (a "
        "group can say so)",
        name, rule.attributes.Float("weight_decay"));
  }

  // `inputs`: the parameter, where it is updated, and its gradient.
  absl::Status Tensors(ValueId parameter, const std::string& op, const UpdateRule& rule, std::vector<ValueId> inputs) {
    const Value value = graph().value(parameter);
    const Layout layout = graph().layout(inputs[0]);
    const size_t first = inputs.size();
    std::vector<std::string> names = {value.name + "@new"};
    for (const Slot& slot : rule.slots) {
      const std::string name = value.name + "@" + slot.name;
      ASSIGN_OR_RETURN(const ValueId state,
                       builder_.AddSource(builder_.registry().Get(Role::kState),
                                          StateAttributes(value.type, slot.initial), name, layout, Phase::kUpdate));
      inputs.push_back(state);
      names.push_back(name + "@new");
    }
    ASSIGN_OR_RETURN(const ValueId factor, FactorOf(parameter));
    AddScalars(op, factor, inputs);
    ASSIGN_OR_RETURN(const std::vector<ValueId> results, Append(op, inputs, rule.attributes, std::move(names)));
    updated_.emplace_back(parameter, results[0]);
    for (size_t s = 0; s < rule.slots.size(); ++s) graph().AddState({inputs[first + s], results[1 + s]});
    return absl::OkStatus();
  }

  // What the update's op asks for behind the tensors.
  void AddScalars(const std::string& update, ValueId clip, std::vector<ValueId>& inputs) {
    const std::map<std::string, ValueId> scalars = {
        {"rate", rate_}, {"apply", apply_}, {"clip", clip}, {"iteration", iteration_}};
    const OpDefinition& op = *builder_.registry().Find(update);
    while (inputs.size() < op.inputs.size()) {
      const auto scalar = scalars.find(op.inputs[inputs.size()].name);
      CHECK(scalar != scalars.end());
      inputs.push_back(scalar->second);
    }
  }

  LayoutBuilder& builder_;
  const std::map<ValueId, RowGradient>& by_rows_;
  const Optimizer& optimizer_;
  const LearningRate& rate_config_;
  const ValueId iteration_;
  ValueId apply_ = kNoValue;
  ValueId rate_ = kNoValue;
  std::map<int, ValueId> clip_;                            // as ClippedWith says; not of those that are not clipped
  std::map<std::pair<ValueId, double>, ValueId> factors_;  // by clip, if there is one, and scale
  std::map<ValueId, int> group_of_;                        // of each parameter; -1: none
  std::map<int, UpdateRule> rules_;                        // of each group
  std::vector<std::pair<ValueId, ValueId>> updated_;       // parameters and what they become, where it was computed
};

}  // namespace

absl::Status AppendUpdate(LayoutBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                          const std::map<ValueId, RowGradient>& by_rows, const Optimizer& optimizer,
                          const LearningRate& rate, ValueId iteration) {
  ASSIGN_OR_RETURN(const Optimizer complete, CompleteOptimizer(optimizer, builder.registry().optimizers()));
  return Update(builder, by_rows, complete, rate, iteration).Run(gradients);
}

}  // namespace partita
