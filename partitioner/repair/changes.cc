#include "partitioner/repair/changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "partitioner/batch_parts.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool HasUpdate(const Strategy& strategy, const StrategyIndex& index, const std::string& parameter) {
  return std::ranges::any_of(index.Matching(parameter), [&](int entry) { return !strategy.ops[entry].update.empty(); });
}

// The axes on which a parameter is whole, each with its largest dimension in parts.
std::map<std::string, AxisConfig> PartsOver(const Mesh& mesh, const Value& parameter) {
  std::map<std::string, AxisConfig> update;
  const Shape& shape = parameter.type.shape;
  if (shape.empty()) return update;
  const auto largest = std::ranges::max_element(shape) - shape.begin();
  for (size_t a = 0; a < parameter.layout.size(); ++a) {
    if (!parameter.layout[a].replicated() || mesh.axes[a].size == 1) continue;
    update[mesh.axes[a].name] = {fmt::format("dimension{}", largest), 0, {}};
  }
  return update;
}

ReplicaSizes SizesOf(const Strategy& strategy) {
  const int axis = strategy.mesh.AxisIndex("model");
  const int model = axis < 0 ? 1 : strategy.mesh.axes[axis].size;
  return {strategy.mesh.size() / model, model};
}

}  // namespace

std::vector<int64_t> MoreMicroBatches(const Graph& forward, const Strategy& strategy) {
  std::vector<int64_t> counts;
  int64_t least = 2 * strategy.pipeline.micro_batches;
  for (const int64_t count : BatchParts(forward)) {
    if (count < least) continue;
    counts.push_back(count);
    least = 2 * count;
  }
  return counts;
}

Strategy WithMicroBatches(const Strategy& strategy, int64_t micro_batches) {
  Strategy changed = strategy;
  changed.pipeline.micro_batches = micro_batches;
  return changed;
}

std::optional<Strategy> WithUpdatesInParts(const Program& program, const Strategy& strategy) {
  const Graph& graph = program.graph(kTrainEntry);
  const StrategyIndex index(strategy);
  std::vector<OpConfig> updates;
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    if (graph.node(value.producer).op->role != Role::kParameter || state.gradient == kNoValue) continue;
    if (graph.type(state.gradient).shape != value.type.shape) continue;  // rows of it, updated where they lie
    if (HasUpdate(strategy, index, value.name)) continue;
    std::map<std::string, AxisConfig> update = PartsOver(graph.mesh(state.value), value);
    if (!update.empty()) updates.push_back({value.name, {}, std::move(update)});
  }
  if (updates.empty()) return std::nullopt;
  Strategy changed = strategy;
  changed.ops.insert(changed.ops.begin(), updates.begin(), updates.end());
  return changed;
}

std::vector<ReplicaSizes> LargerReplicas(const Strategy& strategy) {
  const int ranks = strategy.mesh.size();
  int least = 2 * SizesOf(strategy).model;
  std::vector<ReplicaSizes> sizes;
  for (int model = least; model <= ranks; ++model) {
    if (ranks % model != 0 || model < least) continue;
    sizes.push_back({ranks / model, model});
    least = 2 * model;
  }
  return sizes;
}

std::vector<ReplicaSizes> LargerReplicas(const Strategy& strategy, int most_ranks) {
  const auto [data, model] = SizesOf(strategy);
  std::vector<ReplicaSizes> sizes;
  for (int more = 2 * model; data * more <= most_ranks; more *= 2) sizes.push_back({data, more});
  const int all = most_ranks / data;
  if (all > (sizes.empty() ? model : sizes.back().model)) sizes.push_back({data, all});
  return sizes;
}

std::vector<ReplicaSizes> MoreReplicas(const Strategy& strategy, int most_ranks) {
  const auto [data, model] = SizesOf(strategy);
  std::vector<ReplicaSizes> sizes;
  for (int more = 2 * data; more * model <= most_ranks; more *= 2) sizes.push_back({more, model});
  return sizes;
}

absl::StatusOr<Strategy> WithReplicas(const Graph& forward, const Strategy& strategy, const ReplicaSizes& sizes) {
  ASSIGN_OR_RETURN(Strategy changed,
                   DataModelStrategy(forward, sizes.data, sizes.model, {.input_gradients = strategy.input_gradients}));
  changed.bucket_bytes = strategy.bucket_bytes;
  changed.exchanges = strategy.exchanges;
  changed.pipeline.micro_batches = strategy.pipeline.micro_batches;
  changed.recompute = strategy.recompute;
  return changed;
}

}  // namespace partita
