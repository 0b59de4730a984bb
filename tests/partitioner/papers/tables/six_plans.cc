#include "tests/partitioner/papers/tables/six_plans.h"

#include <algorithm>
#include <vector>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/tables/found_strategy.h"
#include "partitioner/tables/stage_tables.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/stages.h"

namespace partita {
namespace {

absl::StatusOr<Strategy> Rows(const Graph& forward, int data, int devices) {
  DataModelOptions options;
  options.convolutions = LayerSplit::kRows;
  options.dense = LayerSplit::kSamples;
  return DataModelStrategy(forward, data, devices, options);
}

// The paper gathers what every layer makes right behind it.
absl::StatusOr<Strategy> Filters(const Graph& forward, int data, int devices) {
  DataModelOptions options;
  options.input_gradients = InputGradients::kAllReduce;
  return DataModelStrategy(forward, data, devices, options);
}

absl::StatusOr<Strategy> Channels(const Graph& forward, int devices) {
  ASSIGN_OR_RETURN(Strategy strategy, Filters(forward, 1, devices));
  bool first = true;
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const Role role = forward.node(id).op->role;
    if (role != Role::kConvolution && role != Role::kProduct) continue;
    const auto said = std::ranges::find(strategy.ops, forward.name(id), &OpConfig::pattern);
    if (!first && said != strategy.ops.end()) said->axes["model"] = {"input_channels", 0, {}};
    first = false;
  }
  return strategy;
}

bool IsInput(const LayerGraph& layers, size_t layer) {
  return layers.lead(layers.layers[layer]).op->role == Role::kInput;
}

absl::StatusOr<Strategy> Stages(const Graph& forward, const EpochOptions& options, const Cluster& cluster) {
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(forward, Ops()));
  const KernelTimes none_measured;
  const CostBasis basis{Ops(), cluster, none_measured};
  LayerCosts costs(layers, GroupMesh(1, options.devices), basis);
  ASSIGN_OR_RETURN(const WholeLayers whole, WholeLayers::Of(costs));
  std::vector<int> chain;
  std::vector<double> seconds;
  for (size_t layer = 0; layer < layers.layers.size(); ++layer) {
    if (IsInput(layers, layer)) continue;
    const LayerCost& cost = whole.CostOf(static_cast<int>(layer));
    chain.push_back(static_cast<int>(layer));
    seconds.push_back(cost.forward + cost.backward);
  }
  ASSIGN_OR_RETURN(const std::vector<size_t> ends, BalancedStages(seconds, options.devices));
  std::vector<int> stage_of(layers.layers.size(), 0);
  for (size_t place = 0, stage = 0; place < chain.size(); ++place) {
    if (place == ends[stage]) ++stage;
    stage_of[chain[place]] = static_cast<int>(stage);
  }
  for (const LayerEdge& edge : layers.edges) {
    if (IsInput(layers, static_cast<size_t>(edge.from))) stage_of[edge.from] = stage_of[edge.to];
  }
  Strategy strategy = StrategyOfRanks(forward, layers, 1, "stage", options.devices, stage_of);
  strategy.pipeline.micro_batches = options.segments;
  strategy.pipeline.order = PipelineOrder::kGPipe;
  strategy.pipeline.stage_axis = "stage";
  return strategy;
}

}  // namespace

absl::StatusOr<Strategy> PlanOf(ParallelForm form, const Graph& forward, const EpochOptions& options,
                                const Cluster& cluster) {
  const int devices = options.devices, replicas = options.replicas;
  switch (form) {
    case ParallelForm::kData:
      return DataModelStrategy(forward, devices, 1);
    case ParallelForm::kSpatial:
      return Rows(forward, 1, devices);
    case ParallelForm::kPipeline:
      return Stages(forward, options, cluster);
    case ParallelForm::kFilter:
      return Filters(forward, 1, devices);
    case ParallelForm::kChannel:
      return Channels(forward, devices);
    case ParallelForm::kDataFilter:
      return Filters(forward, replicas, devices / replicas);
    case ParallelForm::kDataSpatial:
      break;
  }
  return Rows(forward, replicas, devices / replicas);
}

}  // namespace partita
