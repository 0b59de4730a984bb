#include "runtime/api/reference_walk.h"

#include <memory>
#include <utility>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Walk {
 public:
  Walk(const F64Graph& reference, const ObservedRun& run, const ReferenceVisitor& visitor)
      : reference_(reference),
        graph_(reference.graph()),
        run_(run),
        visitor_(visitor),
        values_(graph_.values().size()),
        readers_(graph_.values().size()) {}

  absl::Status Run() {
    const std::vector<bool> needed = Needed();
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (needed[static_cast<size_t>(id)]) RETURN_IF_ERROR(Visit(id));
    }
    for (const State& state : graph_.states()) {
      if (state.gradient == kNoValue) continue;
      const HostTensor& gradient = *values_[static_cast<size_t>(state.gradient)];
      RETURN_IF_ERROR(visitor_.gradient(graph_.value(state.value).name, ToDoubles(gradient)));
    }
    return absl::OkStatus();
  }

 private:
  // The forward pass and what gradients are made of; nodes that update states are compared on their own.
  std::vector<bool> Needed() {
    std::vector<bool> needed(graph_.nodes().size());
    for (const State& state : graph_.states()) {
      if (state.gradient == kNoValue) continue;
      needed[static_cast<size_t>(graph_.value(state.gradient).producer)] = true;
      ++readers_[static_cast<size_t>(state.gradient)];
    }
    for (size_t id = graph_.nodes().size(); id-- > 0;) {
      const Node& node = graph_.nodes()[id];
      needed[id] = needed[id] || node.phase == Phase::kForward;
      if (!needed[id]) continue;
      for (const ValueId input : node.inputs) {
        if (input == kNoValue) continue;
        needed[static_cast<size_t>(graph_.value(input).producer)] = true;
        ++readers_[static_cast<size_t>(input)];
      }
    }
    return needed;
  }

  absl::Status Visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->is_state() || node.op->role == Role::kInput) {
      ASSIGN_OR_RETURN(const std::optional<WholeValue> given, run_(graph_.name(id)));
      if (!given) return Internal("the run has no '{}' ({})", graph_.name(id), node.op->name);
      Keep(node.outputs[0], InF64(*given));
      return absl::OkStatus();
    }
    std::vector<const HostTensor*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input == kNoValue ? nullptr : values_[input].get());
    ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, reference_.Compute(id, inputs));
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (node.phase == Phase::kForward) RETURN_IF_ERROR(VisitForward(graph_.value(node.outputs[o]).name, outputs[o]));
      Keep(node.outputs[o], std::move(outputs[o]));
    }
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && --readers_[static_cast<size_t>(input)] == 0) values_[static_cast<size_t>(input)].reset();
    }
    return absl::OkStatus();
  }

  void Keep(ValueId value, HostTensor tensor) {
    if (readers_[static_cast<size_t>(value)] == 0) return;
    values_[static_cast<size_t>(value)] = std::make_unique<HostTensor>(std::move(tensor));
  }

  // Later nodes read the run's value, where it has one.
  absl::Status VisitForward(const std::string& name, HostTensor& computed) const {
    ASSIGN_OR_RETURN(const std::optional<WholeValue> of_run, run_(name));
    if (!of_run || of_run->shape != computed.shape) return absl::OkStatus();
    if (visitor_.forward) RETURN_IF_ERROR(visitor_.forward(name, ToDoubles(computed), of_run->elements));
    computed = InF64(*of_run);
    return absl::OkStatus();
  }

  const F64Graph& reference_;
  const Graph& graph_;
  const ObservedRun& run_;
  const ReferenceVisitor& visitor_;
  std::vector<std::unique_ptr<HostTensor>> values_;  // null: no node reads it any more
  std::vector<int> readers_;                         // that are still to come
};

}  // namespace

absl::Status WalkReference(const F64Graph& reference, const ObservedRun& run, const ReferenceVisitor& visitor) {
  return Walk(reference, run, visitor).Run();
}

}  // namespace partita
