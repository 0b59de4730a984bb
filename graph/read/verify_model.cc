#include "graph/read/verify_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "graph/optimizer/parameter_groups.h"
#include "graph/read/learning_rate.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const Node& Producer(const Graph& graph, ValueId value) { return graph.node(graph.value(value).producer); }

std::string Printed(const Graph& graph, ValueId value) {
  const TensorType& type = graph.type(value);
  return fmt::format("{} {}{}", Quoted(graph.value(value).name), Name(type.dtype), ToString(type.shape));
}

absl::Status CheckScalar(const Graph& graph, ValueId value, const std::string& what) {
  const TensorType& type = graph.type(value);
  if (type.shape.empty() && IsFloating(type.dtype) && type.dtype != DType::kBF16) return absl::OkStatus();
  return InvalidArgument("{} is {}; a scalar of type f32 or f64 is needed", what, Printed(graph, value));
}

absl::Status CheckLoss(const Graph& graph, ValueId loss, const std::string& what) {
  RETURN_IF_ERROR(CheckScalar(graph, loss, what));
  if (!Producer(graph, loss).inputs.empty()) return absl::OkStatus();
  return InvalidArgument("{} {} is a {}; a value that is computed from parameters is needed", what,
                         Quoted(graph.value(loss).name), Producer(graph, loss).op->name);
}

absl::Status CheckFurtherLoss(const Graph& graph, const FurtherLoss& further) {
  RETURN_IF_ERROR(CheckLoss(graph, further.value, "the further loss"));
  if (std::isfinite(further.weight) && further.weight != 0) return absl::OkStatus();
  return InvalidArgument("the weight of the further loss {} is {}; a finite number other than 0 is needed",
                         Quoted(graph.value(further.value).name), further.weight);
}

absl::Status CheckResults(const Graph& graph) {
  if (graph.loss == kNoValue) return InvalidArgument("the graph names no loss; the scalar to be minimised is needed");
  RETURN_IF_ERROR(CheckLoss(graph, graph.loss, "the loss"));
  for (const FurtherLoss& further : graph.further_losses) RETURN_IF_ERROR(CheckFurtherLoss(graph, further));
  for (const ValueId metric : graph.metrics) RETURN_IF_ERROR(CheckScalar(graph, metric, "a metric"));
  std::set<ValueId> seen;
  for (const ValueId result : ResultsOf(graph)) {
    if (seen.insert(result).second) continue;
    return InvalidArgument("{} is named twice among losses and metrics; once is allowed",
                           Quoted(graph.value(result).name));
  }
  return absl::OkStatus();
}

const InputDefinition& InputOf(const OpDefinition& op, size_t input) {
  return op.inputs[std::min(input, op.inputs.size() - 1)];
}

// Whether a gradient of the node's output flows to this input: by its op, or those that stand for it in training.
bool Differentiable(const Graph& graph, const Node& node, size_t input) {
  if (!node.op->gradient && !node.op->in_training) return false;
  const ValueId value = node.inputs[input];
  return value != kNoValue && !InputOf(*node.op, input).constant && IsFloating(graph.type(value).dtype);
}

// The values that get a gradient: those from which a loss is reached. One walk against the order of the nodes.
std::vector<bool> WithGradient(const Graph& graph, const std::vector<ValueId>& losses) {
  std::vector<bool> reached(graph.values().size());
  for (const ValueId loss : losses) reached[loss] = true;
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()); id-- > 0;) {
    const Node& node = graph.node(id);
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return reached[v]; });
    if (!wanted) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (Differentiable(graph, node, i)) reached[node.inputs[i]] = true;
    }
  }
  return reached;
}

std::vector<int> CountReaders(const Graph& graph) {
  std::vector<int> readers(graph.values().size());
  for (const Node& node : graph.nodes()) {
    for (ValueId input : node.inputs) {
      if (input != kNoValue) ++readers[input];
    }
  }
  return readers;
}

absl::Status CheckParameters(const Graph& graph) {
  std::vector<ValueId> losses = {graph.loss};
  for (const FurtherLoss& further : graph.further_losses) losses.push_back(further.value);
  const std::vector<bool> reached = WithGradient(graph, losses);
  const std::vector<int> readers = CountReaders(graph);
  for (const State& state : graph.states()) {
    if (Producer(graph, state.value).op->role != Role::kParameter || reached[state.value]) continue;
    const std::string& name = graph.value(state.value).name;
    if (readers[state.value] == 0) {
      return InvalidArgument("node {}: the parameter is used by no node; remove it or connect it", Quoted(name));
    }
    return InvalidArgument(
        "node {}: the parameter gets no gradient, for no way that gradients flow along leads from it "
        "to the loss {}; make it a state, or connect it",
        Quoted(name), Quoted(graph.value(graph.loss).name));
  }
  return absl::OkStatus();
}

// `value` is an input called `input` that the node updates.
absl::Status CheckUpdated(const Graph& graph, NodeId id, const std::string& input, ValueId value,
                          std::map<ValueId, NodeId>& updated) {
  const Node& producer = Producer(graph, value);
  if (producer.op->role != Role::kState) {
    return InvalidArgument("node {}: {} is {}, a {}; a state is needed, because it is updated", Quoted(graph.name(id)),
                           input, Quoted(graph.value(value).name), producer.op->name);
  }
  const auto [first, fresh] = updated.emplace(value, id);
  if (fresh) return absl::OkStatus();
  return InvalidArgument("node {}: {} is {}, which {} updates already; each statistic needs a state of its own",
                         Quoted(graph.name(id)), input, Quoted(graph.value(value).name),
                         first->second == id ? "it" : Quoted(graph.name(first->second)));
}

absl::Status CheckUpdates(const Graph& graph) {
  std::map<ValueId, NodeId> updated;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const InputDefinition& input = InputOf(*node.op, i);
      if (!input.updated || node.inputs[i] == kNoValue) continue;
      RETURN_IF_ERROR(CheckUpdated(graph, id, input.name, node.inputs[i], updated));
    }
  }
  return absl::OkStatus();
}

// That nodes give new values as a batch passes them: running statistics.
std::vector<ValueId> UpdatedStates(const Graph& graph) {
  std::vector<ValueId> states;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (InputOf(*node.op, i).updated && node.inputs[i] != kNoValue) states.push_back(node.inputs[i]);
    }
  }
  return states;
}

}  // namespace

// Two inputs that one field fills would be taken for micro-batches of one.
absl::Status VerifyFields(const Graph& graph) {
  for (const EntryInput& input : InputsOf(graph)) {
    if (input.values.size() == 1) continue;
    return InvalidArgument("node {}: its field {} fills {} already; each input needs one of its own",
                           Quoted(graph.value(input.values[1]).name), Quoted(input.field),
                           Quoted(graph.value(input.values[0]).name));
  }
  return absl::OkStatus();
}

absl::Status VerifyForward(const Graph& graph) {
  RETURN_IF_ERROR(VerifyFields(graph));
  RETURN_IF_ERROR(CheckResults(graph));
  RETURN_IF_ERROR(CheckParameters(graph));
  return CheckUpdates(graph);
}

absl::Status VerifyPatterns(const Graph& graph, const Optimizer& optimizer) {
  std::vector<std::string> parameters, averaged;
  for (const State& state : graph.states()) {
    if (Producer(graph, state.value).op->role == Role::kParameter) parameters.push_back(graph.value(state.value).name);
  }
  averaged = parameters;
  for (const ValueId state : UpdatedStates(graph)) averaged.push_back(graph.value(state).name);
  RETURN_IF_ERROR(GroupsOf(optimizer, parameters).status());
  return Averaged(optimizer, averaged).status();
}

absl::Status VerifyModel(const Model& model, const OpRegistry& registry) {
  RETURN_IF_ERROR(VerifyForward(model.graph));
  RETURN_IF_ERROR(CompleteOptimizer(model.optimizer, registry.optimizers()).status());
  RETURN_IF_ERROR(VerifyPatterns(model.graph, model.optimizer));
  return VerifyLearningRate(model.learning_rate);
}

std::vector<std::string> ParametersWithoutGradient(const Graph& graph, ValueId loss) {
  const std::vector<bool> reached = WithGradient(graph, {loss});
  std::vector<std::string> names;
  for (const State& state : graph.states()) {
    const bool trained = Producer(graph, state.value).op->role == Role::kParameter;
    if (trained && !reached[state.value]) names.push_back(graph.value(state.value).name);
  }
  return names;
}

}  // namespace partita
