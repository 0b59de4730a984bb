#include "graph/update/append_update.h"

#include <algorithm>
#include <utility>

#include "graph/ir/gate.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/moves/plan_move.h"
#include "graph/optimizer/optimizer.h"
#include "graph/optimizer/parameter_groups.h"
#include "graph/update/append_averages.h"
#include "graph/update/update_nodes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Update {
 public:
  // `optimizer` is complete.
  Update(LayoutBuilder& builder, const std::map<ValueId, RowGradient>& by_rows, const Optimizer& optimizer,
         const LearningRate& rate, ValueId iteration, GradientNorm norm)
      : builder_(builder),
        nodes_(builder),
        by_rows_(by_rows),
        optimizer_(optimizer),
        rate_config_(rate),
        iteration_(iteration),
        norm_(norm) {}

  absl::Status Run(const std::map<ValueId, ValueId>& gradients) {
    if (gradients.empty() &&
        std::ranges::all_of(graph().states(), [](const State& s) { return s.update == kNoValue; })) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(group_of_, GroupsOfParameters(gradients));
    for (const auto& [parameter, group] : group_of_) {
      if (!rules_.contains(group)) rules_.emplace(group, RuleOf(group));
    }
    const auto together = GradientsTogether(gradients);
    ASSIGN_OR_RETURN(const auto squares, SumsOfSquares(together, /*clipped=*/true));
    ASSIGN_OR_RETURN(const ValueId all_squares, AllSquares(squares));
    RETURN_IF_ERROR(Apply(all_squares));
    RETURN_IF_ERROR(GateForward());
    if (gradients.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(ReportNorm(together, squares, all_squares));
    RETURN_IF_ERROR(Clip(squares));
    RETURN_IF_ERROR(Rate(graph().type(gradients.begin()->second).dtype));
    RETURN_IF_ERROR(Directions(gradients));
    RETURN_IF_ERROR(Norms(gradients));
    for (const auto& [parameter, gradient] : gradients) RETURN_IF_ERROR(Parameter(parameter, gradient));
    // Behind all of them, so that they can be one launch.
    for (const auto& [parameter, result] : updated_) SetUpdate(parameter, result);
    RETURN_IF_ERROR(AppendAverages(builder_, optimizer_, {rate_, apply_, iteration_}));
    ASSIGN_OR_RETURN(const ValueId next,
                     nodes_.Add(Role::kIncrement, {iteration_, apply_}, {}, std::string(kIterationName) + "@new"));
    graph().SetUpdate(iteration_, next);
    return absl::OkStatus();
  }

 private:
  Graph& graph() { return builder_.graph(); }

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

  // As ClippedWith says.
  using Together = std::map<int, std::vector<ScaledGradient>>;
  Together GradientsTogether(const std::map<ValueId, ValueId>& gradients) const {
    Together together;
    for (const auto& [parameter, dense] : gradients) {
      const auto rows = by_rows_.find(parameter);
      const ValueId gradient = rows == by_rows_.end() ? dense : rows->second.rows;
      together[ClippedWith(parameter)].push_back({gradient, ScaleOf(parameter)});
    }
    return together;
  }

  // Of the gradients that are clipped, or of those that are not, on every rank.
  absl::StatusOr<std::map<int, ValueId>> SumsOfSquares(const Together& together, bool clipped) {
    std::map<int, ValueId> sums;
    for (const auto& [with, all] : together) {
      if ((NormOf(with) > 0) != clipped) continue;
      ASSIGN_OR_RETURN(sums[with], nodes_.SumOfSquares(all));
    }
    return sums;
  }

  // kNoValue: there are none.
  absl::StatusOr<ValueId> AllSquares(const std::map<int, ValueId>& squares) {
    if (squares.empty()) return kNoValue;
    if (squares.size() == 1) return squares.begin()->second;
    std::vector<ValueId> all;
    for (const auto& [clipped, sum] : squares) all.push_back(sum);
    ASSIGN_OR_RETURN(const ValueId sum, nodes_.Add(Role::kAdd, all, {}, graph().UniqueName("@norm@squares@all")));
    return builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
  }

  // `value` as a number of the type of `like`.
  absl::StatusOr<ValueId> As(ValueId like, ValueId value, const std::string& name) {
    if (value == kNoValue || graph().type(value).dtype == graph().type(like).dtype) return value;
    return nodes_.Add(Role::kCast, {value}, {{"dtype", std::string(Name(graph().type(like).dtype))}}, name);
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
    return nodes_.Add(Role::kAdd, std::move(losses), {}, "@losses");
  }

  absl::Status Apply(ValueId all_squares) {
    ASSIGN_OR_RETURN(const ValueId loss, Losses());
    ASSIGN_OR_RETURN(const ValueId squares, As(loss, all_squares, "@norm@squares@cast"));
    ASSIGN_OR_RETURN(apply_, nodes_.Add(Role::kAllFinite, {loss, squares}, {}, "@apply"));
    graph().apply = apply_;
    return absl::OkStatus();
  }

  // `squares`: of what is clipped, and their sum.
  absl::Status ReportNorm(const Together& together, std::map<int, ValueId> squares, ValueId all_squares) {
    const bool all_clipped = squares.size() == together.size();
    if (norm_ == GradientNorm::kOmitted || (norm_ == GradientNorm::kIfClipped && !all_clipped)) {
      return absl::OkStatus();
    }
    if (!all_clipped) {
      ASSIGN_OR_RETURN(auto others, SumsOfSquares(together, /*clipped=*/false));
      squares.merge(others);
      ASSIGN_OR_RETURN(all_squares, AllSquares(squares));
    }
    graph().metrics.push_back(all_squares);
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
    node.inputs[gate] = nodes_.ToAllOf(node.outputs[0], apply_);
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
      ASSIGN_OR_RETURN(clip_[clipped], nodes_.Add(Role::kClipScale, {sum}, {{"max_norm", NormOf(clipped)}},
                                                  graph().UniqueName("@clip")));
    }
    return absl::OkStatus();
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
      ASSIGN_OR_RETURN(found->second, nodes_.Times(scale, clipped));
      return found->second;
    }
    const Attributes constant{
        {"dtype", std::string(Name(graph().type(rate_).dtype))}, {"shape", Shape{}}, {"value", scale}};
    ASSIGN_OR_RETURN(found->second, builder_.AddSource(builder_.registry().Get(Role::kConstant), constant,
                                                       graph().UniqueName("@gradient_scale"),
                                                       Replicated(graph().mesh()), Phase::kUpdate));
    return found->second;
  }

  absl::Status Rate(DType dtype) {
    Attributes attributes = AttributesOf(rate_config_);
    attributes.Set("dtype", std::string(Name(dtype)));
    ASSIGN_OR_RETURN(rate_, nodes_.Add(Role::kLearningRate, {iteration_}, std::move(attributes), "@learning_rate"));
    if (rate_config_.schedule != "plateau") return absl::OkStatus();
    ASSIGN_OR_RETURN(const ValueId factor,
                     builder_.AddSource(builder_.registry().Get(Role::kState), StateAttributes({dtype, {}}, 1),
                                        kRateFactorName, graph().layout(rate_), Phase::kUpdate));
    graph().AddState({factor, kNoValue});
    ASSIGN_OR_RETURN(const std::vector<ValueId> scaled,
                     nodes_.Append("mul", {rate_, factor}, {}, {std::string(kRateFactorName) + "@rate"}));
    rate_ = scaled[0];
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

  const UpdateRule& Rule(ValueId parameter) const { return rules_.at(group_of_.at(parameter)); }

  // The parameter where it is updated: as its gradient lies.
  ValueId Moved(ValueId parameter, ValueId gradient) {
    return builder_.MoveTo(parameter, graph().layout(gradient), Phase::kUpdate);
  }

  // The first phase of all rules that have one, so that it can be one launch.
  absl::Status Directions(const std::map<ValueId, ValueId>& gradients) {
    for (const auto& [parameter, gradient] : gradients) {
      const UpdateRule& rule = Rule(parameter);
      if (!rule.direction) continue;
      RETURN_IF_ERROR(CheckRowUpdate(parameter, rule));
      ASSIGN_OR_RETURN(const ValueId clip, FactorOf(parameter));
      const std::string name = graph().UniqueName(graph().value(parameter).name + "@direction");
      ASSIGN_OR_RETURN(direction_[parameter], Tensors(parameter, rule.direction->op, *rule.direction,
                                                      {Moved(parameter, gradient), gradient}, clip, name));
    }
    return absl::OkStatus();
  }

  // What the second phase reads in the place of the gradient.
  ValueId DirectionOf(ValueId parameter, ValueId gradient) const {
    const auto found = direction_.find(parameter);
    return found == direction_.end() ? gradient : found->second;
  }

  bool ReadsNorms(const UpdateRule& rule) {
    return std::ranges::find(builder_.registry().Find(rule.op)->inputs, "w_squares", &InputDefinition::name) !=
           builder_.registry().Find(rule.op)->inputs.end();
  }

  // The norms of whole tensors: all squares are summed before the ranks add them up, so that these sums share a
  // collective (graph/passes/bucket_all_reduces.h).
  absl::Status Norms(const std::map<ValueId, ValueId>& gradients) {
    for (const auto& [parameter, gradient] : gradients) {
      if (!ReadsNorms(Rule(parameter))) continue;
      RETURN_IF_ERROR(CheckRowUpdate(parameter, Rule(parameter)));
      std::vector<ValueId>& squares = squares_[parameter];
      for (const ValueId value : {Moved(parameter, gradient), DirectionOf(parameter, gradient)}) {
        ASSIGN_OR_RETURN(squares.emplace_back(), nodes_.Squares(value));
      }
    }
    for (auto& [parameter, squares] : squares_) {
      for (ValueId& sum : squares) sum = nodes_.ToAllOf(gradients.at(parameter), sum);
    }
    return absl::OkStatus();
  }

  absl::Status Parameter(ValueId parameter, ValueId gradient) {
    const UpdateRule& rule = Rule(parameter);
    const auto rows = by_rows_.find(parameter);
    const bool whole = rows == by_rows_.end();
    std::string op = rule.op;
    std::vector<ValueId> inputs;
    if (whole) {
      inputs = {Moved(parameter, gradient), DirectionOf(parameter, gradient)};
    } else {
      RETURN_IF_ERROR(CheckRowUpdate(parameter, rule));
      op = rule.op_of_rows;
      inputs = {parameter, rows->second.ids, rows->second.rows};
    }
    ValueId clip = kNoValue;  // a direction is clipped
    if (!rule.direction) {
      ASSIGN_OR_RETURN(clip, FactorOf(parameter));
    }
    const std::string name = graph().value(parameter).name + "@new";
    ASSIGN_OR_RETURN(const ValueId updated, Tensors(parameter, op, rule, std::move(inputs), clip, name));
    updated_.emplace_back(parameter, updated);
    graph().SetGradient(parameter, whole ? gradient : rows->second.rows);
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

  // That a parameter whose gradient has rows can be updated by rows.
  absl::Status CheckRowUpdate(ValueId parameter, const UpdateRule& rule) {
    if (!by_rows_.contains(parameter)) return absl::OkStatus();
    const std::string& name = graph().value(parameter).name;
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

  // The op's first output. `inputs`: the parameter, where it is updated, and its gradient.
  absl::StatusOr<ValueId> Tensors(ValueId parameter, const std::string& op, const UpdatePhase& phase,
                                  std::vector<ValueId> inputs, ValueId clip, const std::string& made) {
    const Value value = graph().value(parameter);
    const Layout layout = graph().layout(inputs[0]);
    const size_t first = inputs.size();
    std::vector<std::string> names = {made};
    for (const Slot& slot : phase.slots) {
      const std::string name = value.name + "@" + slot.name;
      ASSIGN_OR_RETURN(const ValueId state,
                       builder_.AddSource(builder_.registry().Get(Role::kState),
                                          StateAttributes(value.type, slot.initial), name, layout, Phase::kUpdate));
      inputs.push_back(state);
      names.push_back(name + "@new");
    }
    std::map<std::string, ValueId> scalars = {
        {"rate", rate_}, {"apply", apply_}, {"clip", clip}, {"iteration", iteration_}};
    if (const auto squares = squares_.find(parameter); squares != squares_.end()) {
      scalars.insert({{"w_squares", squares->second[0]}, {"g_squares", squares->second[1]}});
    }
    AddScalars(op, scalars, inputs);
    ASSIGN_OR_RETURN(const std::vector<ValueId> results, nodes_.Append(op, inputs, phase.attributes, std::move(names)));
    for (size_t s = 0; s < phase.slots.size(); ++s) graph().AddState({inputs[first + s], results[1 + s]});
    return results[0];
  }

  // What the update's op asks for behind the tensors.
  void AddScalars(const std::string& update, const std::map<std::string, ValueId>& scalars,
                  std::vector<ValueId>& inputs) {
    const OpDefinition& op = *builder_.registry().Find(update);
    while (inputs.size() < op.inputs.size()) {
      const auto scalar = scalars.find(op.inputs[inputs.size()].name);
      CHECK(scalar != scalars.end());
      inputs.push_back(scalar->second);
    }
  }

  LayoutBuilder& builder_;
  UpdateNodes nodes_;
  const std::map<ValueId, RowGradient>& by_rows_;
  const Optimizer& optimizer_;
  const LearningRate& rate_config_;
  const ValueId iteration_;
  const GradientNorm norm_;
  ValueId apply_ = kNoValue;
  ValueId rate_ = kNoValue;
  std::map<int, ValueId> clip_;                            // as ClippedWith says; not of those that are not clipped
  std::map<std::pair<ValueId, double>, ValueId> factors_;  // by clip, if there is one, and scale
  std::map<ValueId, int> group_of_;                        // of each parameter; -1: none
  std::map<int, UpdateRule> rules_;                        // of each group
  std::map<ValueId, ValueId> direction_;                   // of each parameter whose rule has one
  std::map<ValueId, std::vector<ValueId>> squares_;        // of it and its direction or gradient, where norms are read
  std::vector<std::pair<ValueId, ValueId>> updated_;       // parameters and what they become, where it was computed
};

}  // namespace

absl::Status AppendUpdate(LayoutBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                          const std::map<ValueId, RowGradient>& by_rows, const Optimizer& optimizer,
                          const LearningRate& rate, ValueId iteration, GradientNorm norm) {
  ASSIGN_OR_RETURN(const Optimizer complete, CompleteOptimizer(optimizer, builder.registry().optimizers()));
  return Update(builder, by_rows, complete, rate, iteration, norm).Run(gradients);
}

}  // namespace partita
