#include "graph/passes/prepare_entry.h"

#include "graph/derive/sample_rows_of.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/model.h"
#include "graph/ir/node_view.h"
#include "graph/passes/prepare_evaluation.h"
#include "graph/passes/prepare_training.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

const Graph& EntryPreparation::graph() const { return rewriter_.graph(); }

absl::Status EntryPreparation::AddIteration() {
  ASSIGN_OR_RETURN(const std::vector<ValueId> state,
                   Append(registry_.Get(Role::kState), {}, StateAttributes({DType::kI32, {}}, 0), {kIterationName}));
  iteration_ = state[0];
  return absl::OkStatus();
}

absl::StatusOr<Graph> EntryPreparation::Run(Preparation OpDefinition::*preparation) {
  const Graph& from = rewriter_.from();
  for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
    const Preparation& prepare = from.node(id).op->*preparation;
    if (prepare) {
      RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", from.name(id)), Prepare(id, prepare)));
    } else {
      rewriter_.Copy(id);
    }
  }
  Graph graph = rewriter_.Finish();
  for (const ValueId state : states_) graph.AddState({state, kNoValue});
  for (const auto& [state, value] : updates_) graph.SetUpdate(state, value);
  return graph;
}

absl::Status EntryPreparation::Prepare(NodeId id, const Preparation& preparation) {
  Node node = rewriter_.from().node(id);
  for (ValueId& input : node.inputs) input = rewriter_.At(input);
  const std::vector<ValueId> outputs = std::exchange(node.outputs, {});
  ASSIGN_OR_RETURN(const std::vector<ValueId> results, preparation(*this, node, rewriter_.from().name(id)));
  CHECK(results.size() == outputs.size());
  for (size_t o = 0; o < outputs.size(); ++o) rewriter_.Map(outputs[o], results[o]);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValueId>> EntryPreparation::Add(const std::string& op, std::vector<ValueId> inputs,
                                                           Attributes attributes,
                                                           const std::vector<std::string>& names) {
  const OpDefinition* const definition = registry_.Find(op);
  CHECK(definition != nullptr);
  return Append(*definition, std::move(inputs), std::move(attributes), names);
}

absl::StatusOr<ValueId> EntryPreparation::SampleWeight(const TensorType& type) {
  if (const ValueId made = graph().Find(kSampleWeightName); made != kNoValue) return made;
  const Attributes attributes{{"dtype", std::string(Name(type.dtype))}, {"shape", type.shape}};
  ASSIGN_OR_RETURN(const std::vector<ValueId> weight,
                   Append(registry_.Get(Role::kInput), {}, attributes, {kSampleWeightName}));
  return weight[0];
}

// Once for every value.
std::optional<SampleRows> EntryPreparation::SamplesOf(ValueId value) {
  for (auto next = static_cast<ValueId>(samples_.size()); next <= value; ++next) {
    samples_.push_back(SampleRowsOf(graph(), next, samples_));
  }
  return samples_[value];
}

absl::StatusOr<std::vector<ValueId>> EntryPreparation::Append(const OpDefinition& op, std::vector<ValueId> inputs,
                                                              Attributes attributes,
                                                              const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(attributes, CompleteAttributes(op, attributes));
  Node node{&op, std::move(attributes), std::move(inputs), {}, Phase::kForward};
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferTypes(graph(), node));
  CHECK(types.size() == names.size());
  std::vector<Value> outputs;
  for (size_t o = 0; o < types.size(); ++o) outputs.push_back({names[o], std::move(types[o]), {}, -1});
  const NodeId id = rewriter_.graph().AddNode(std::move(node), std::move(outputs));
  if (op.is_state()) states_.push_back(graph().node(id).outputs[0]);
  return graph().node(id).outputs;
}

absl::StatusOr<Graph> PrepareTraining(const Graph& forward, const OpRegistry& registry) {
  EntryPreparation preparation(forward, registry);
  RETURN_IF_ERROR(preparation.AddIteration());
  return preparation.Run(&OpDefinition::in_training);
}

absl::StatusOr<Graph> PrepareEvaluation(const Graph& forward, const OpRegistry& registry) {
  return EntryPreparation(forward, registry).Run(&OpDefinition::in_evaluation);
}

}  // namespace partita
