#include "graph/update/append_averages.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/optimizer/parameter_groups.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// States of the user's graph that the step changes.
std::vector<State> Changing(const Graph& graph) {
  std::vector<State> changing;
  for (const State& state : graph.states()) {
    if (!IsGenerated(graph.value(state.value).name) && state.update != kNoValue) changing.push_back(state);
  }
  return changing;
}

// The state beside another, which begins as that does.
absl::StatusOr<ValueId> AddState(LayoutBuilder& builder, ValueId of) {
  const Value& value = builder.graph().value(of);
  Attributes attributes = builder.graph().node(value.producer).attributes;
  attributes.Set("like", DrawnAs(attributes, value.name));
  return builder.AddSource(builder.registry().Get(Role::kState), std::move(attributes), AverageName(value.name),
                           value.layout, Phase::kUpdate);
}

absl::Status AddAverage(LayoutBuilder& builder, const State& of, const MovingAverage& average,
                        const UpdateValues& scalars) {
  ASSIGN_OR_RETURN(const ValueId state, AddState(builder, of.value));
  NodeRequest request;
  request.op = "moving_average";
  request.inputs = {state, of.update, scalars.rate, scalars.apply, kNoValue, scalars.iteration};
  request.attributes = {{"decay", average.decay}, {"warmup", average.warmup}};
  request.names = {builder.graph().value(state).name + "@new"};
  request.phase = Phase::kUpdate;
  ASSIGN_OR_RETURN(const std::vector<ValueId> results, builder.Add(request));
  const Layout layout = builder.graph().layout(state);
  builder.graph().AddState({state, builder.MoveTo(results[0], layout, Phase::kUpdate)});
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendAverages(LayoutBuilder& builder, const Optimizer& optimizer, const UpdateValues& scalars) {
  if (!optimizer.average) return absl::OkStatus();
  const std::vector<State> changing = Changing(builder.graph());
  std::vector<std::string> names;
  for (const State& state : changing) names.push_back(builder.graph().value(state.value).name);
  ASSIGN_OR_RETURN(const std::vector<bool> averaged, Averaged(optimizer, names));
  for (size_t s = 0; s < changing.size(); ++s) {
    if (averaged[s]) RETURN_IF_ERROR(AddAverage(builder, changing[s], *optimizer.average, scalars));
  }
  return absl::OkStatus();
}

}  // namespace partita
