#include "graph/derive/append_update.h"

#include <functional>

#include "graph/ir/generated_name.h"
#include "graph/moves/plan_move.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Update {
 public:
  Update(LayoutBuilder& builder, const Optimizer& optimizer, const LearningRate& rate, ValueId iteration)
      : builder_(builder), optimizer_(optimizer), rate_config_(rate), iteration_(iteration) {}

  absl::Status Run(const std::map<ValueId, ValueId>& gradients) {
    if (gradients.empty()) return absl::OkStatus();
    dtype_ = graph().type(gradients.begin()->second).dtype;
    RETURN_IF_ERROR(Clip(gradients));
    RETURN_IF_ERROR(Rate());
    for (const auto& [parameter, gradient] : gradients) RETURN_IF_ERROR(Parameter(parameter, gradient));
    // Behind all of them, so that they can be one launch.
    for (const auto& [parameter, result] : updated_) {
      graph().SetUpdate(parameter, builder_.MoveTo(result, graph().layout(parameter), Phase::kUpdate));
    }
    ASSIGN_OR_RETURN(const ValueId next, Add(Role::kIncrement, {iteration_}, {}, std::string(kIterationName) + "@new"));
    graph().SetUpdate(iteration_, next);
    return absl::OkStatus();
  }

 private:
  Graph& graph() { return builder_.graph(); }

  // The op in this role.
  absl::StatusOr<ValueId> Add(Role role, std::vector<ValueId> inputs, Attributes attributes, const std::string& name) {
    return Add(builder_.registry().Get(role).name, std::move(inputs), std::move(attributes), {name});
  }

  absl::StatusOr<ValueId> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                              std::vector<std::string> names, std::vector<ValueId>* outputs = nullptr) {
    NodeRequest request;
    request.op = op;
    request.inputs = std::move(inputs);
    request.attributes = std::move(attributes);
    request.names = std::move(names);
    request.phase = Phase::kUpdate;
    ASSIGN_OR_RETURN(std::vector<ValueId> results, builder_.Add(request));
    if (outputs != nullptr) *outputs = results;
    return results[0];
  }

  absl::Status Clip(const std::map<ValueId, ValueId>& gradients) {
    if (optimizer_.clip_norm <= 0) return absl::OkStatus();
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
    ASSIGN_OR_RETURN(ValueId sum, Add(Role::kAdd, all, {}, "@norm@squares"));
    sum = builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
    ASSIGN_OR_RETURN(clip_, Add(Role::kClipScale, {sum}, {{"max_norm", optimizer_.clip_norm}}, "@clip"));
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

  absl::Status Rate() {
    Attributes attributes = AttributesOf(rate_config_);
    attributes.Set("dtype", std::string(Name(dtype_)));
    ASSIGN_OR_RETURN(rate_, Add(Role::kLearningRate, {iteration_}, std::move(attributes), "@learning_rate"));
    return absl::OkStatus();
  }

  absl::Status Parameter(ValueId parameter, ValueId gradient) {
    const Value value = graph().value(parameter);
    const Layout layout = graph().layout(gradient);
    const ValueId weight = builder_.MoveTo(parameter, layout, Phase::kUpdate);
    const std::string updated = value.name + "@new";
    Attributes attributes{{"weight_decay", optimizer_.weight_decay}};
    ValueId result = kNoValue;
    if (optimizer_.momentum > 0) {
      const std::string slot_name = value.name + "@momentum";
      ASSIGN_OR_RETURN(const ValueId slot,
                       builder_.AddSource(builder_.registry().Get(Role::kState), StateAttributes(value.type, 0),
                                          slot_name, layout, Phase::kUpdate));
      attributes.Set("momentum", optimizer_.momentum);
      attributes.Set("nesterov", optimizer_.nesterov);
      std::vector<ValueId> outputs;
      ASSIGN_OR_RETURN(result, Add("sgd_momentum", {weight, gradient, slot, rate_, clip_}, std::move(attributes),
                                   {updated, slot_name + "@new"}, &outputs));
      graph().AddState({slot, outputs[1]});
    } else {
      ASSIGN_OR_RETURN(result, Add("sgd", {weight, gradient, rate_, clip_}, std::move(attributes), {updated}));
    }
    updated_.emplace_back(parameter, result);
    graph().SetGradient(parameter, gradient);
    return absl::OkStatus();
  }

  LayoutBuilder& builder_;
  const Optimizer& optimizer_;
  const LearningRate& rate_config_;
  const ValueId iteration_;
  DType dtype_ = DType::kF32;
  ValueId rate_ = kNoValue;
  ValueId clip_ = kNoValue;
  std::vector<std::pair<ValueId, ValueId>> updated_;  // parameters and what they become, where it was computed
};

}  // namespace

absl::Status AppendUpdate(LayoutBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                          const Optimizer& optimizer, const LearningRate& rate, ValueId iteration) {
  return Update(builder, optimizer, rate, iteration).Run(gradients);
}

}  // namespace partita
