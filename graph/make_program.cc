#include "graph/make_program.h"

#include <map>
#include <set>

#include "graph/adjoint.h"
#include "graph/append_update.h"
#include "graph/choose_layout.h"
#include "graph/moves/move_ops.h"
#include "graph/partition.h"
#include "graph/passes/bucket_all_reduces.h"
#include "graph/passes/convert_dtype.h"
#include "graph/passes/drop_unused.h"
#include "graph/passes/fuse_batch_norm_gradient.h"
#include "graph/passes/fuse_moves.h"
#include "graph/passes/fuse_normalize_relu.h"
#include "graph/passes/order_pipeline.h"
#include "graph/passes/prepare_evaluation.h"
#include "graph/passes/prepare_training.h"
#include "graph/passes/unroll_micro_batches.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A collective among threads of one machine: two wake-ups of a waiting thread, and a copy at memory speed.
constexpr double kLatency = 20e-6;
constexpr double kBytesPerSecond = 5e9;

// What is reported must be whole on every rank: loss and metrics are brought to R after everything else.
void ResolveResults(LayoutBuilder& builder) {
  Graph& graph = builder.graph();
  const Layout replicated = Replicated(graph.mesh());
  if (graph.loss != kNoValue) graph.loss = builder.MoveTo(graph.loss, replicated, Phase::kUpdate);
  for (ValueId& metric : graph.metrics) metric = builder.MoveTo(metric, replicated, Phase::kUpdate);
}

// The layouts that entries with `update` ask for.
absl::StatusOr<UpdateLayouts> LayoutsOfUpdates(const Graph& graph, const Strategy& strategy) {
  UpdateLayouts layouts;
  const StrategyIndex index(strategy);
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    const Node& node = graph.node(value.producer);
    if (node.op->name != "parameter") continue;
    for (int i : index.Matching(value.name)) {
      if (strategy.ops[i].update.empty()) continue;
      LayoutRequest request{node.op, NodeView{node.attributes, {}, {value.type}}, {}, {}, true, &graph.mesh()};
      request.configs.resize(graph.mesh().axes.size());
      for (const auto& [axis, config] : strategy.ops[i].update) request.configs[graph.mesh().AxisIndex(axis)] = config;
      auto chosen = ChooseLayouts(request);
      if (!chosen.ok()) return WithContext(fmt::format("update of '{}'", value.name), chosen.status());
      Layout layout = value.layout;
      for (const auto& [axis, config] : strategy.ops[i].update) {
        const int a = graph.mesh().AxisIndex(axis);
        if (layout[a].replicated()) layout[a] = chosen->outputs[0][a];
      }
      RETURN_IF_ERROR(
          WithContext(fmt::format("update of '{}'", value.name), CheckLayout(layout, value.type.shape, graph.mesh())));
      layouts[state.value] = layout;
      break;
    }
  }
  return layouts;
}

absl::StatusOr<Graph> InMicroBatches(Graph graph, const Pipeline& pipeline, const OpRegistry& registry) {
  if (pipeline.micro_batches == 1) return graph;
  return UnrollMicroBatches(graph, pipeline.micro_batches, registry);
}

absl::StatusOr<Graph> InPipelineOrder(Graph graph, const Pipeline& pipeline) {
  if (pipeline.micro_batches == 1) return graph;
  return OrderPipeline(graph, pipeline);
}

absl::StatusOr<Graph> MakeTraining(const Model& model, const Graph& forward, const Strategy& strategy,
                                   const OpRegistry& registry, const ProgramOptions& options) {
  ASSIGN_OR_RETURN(Graph prepared, PrepareTraining(forward, registry));
  if (options.fuse) prepared = FuseNormalizeRelu(std::move(prepared));
  ASSIGN_OR_RETURN(prepared, InMicroBatches(std::move(prepared), strategy.pipeline, registry));
  ASSIGN_OR_RETURN(Graph graph, Partition(prepared, strategy, registry));
  LayoutBuilder builder(graph, registry);
  if (graph.loss != kNoValue) {
    ASSIGN_OR_RETURN(const UpdateLayouts updates, LayoutsOfUpdates(graph, strategy));
    ASSIGN_OR_RETURN(const auto gradients, AppendAdjoint(builder, updates));
    RETURN_IF_ERROR(AppendUpdate(builder, gradients, model.optimizer, model.learning_rate, graph.Find(kIterationName)));
  }
  ResolveResults(builder);
  graph = DropUnused(graph);
  graph = FuseMoves(std::move(graph), registry);
  if (options.fuse) graph = FuseBatchNormGradient(std::move(graph), registry);
  ASSIGN_OR_RETURN(graph, InPipelineOrder(std::move(graph), strategy.pipeline));
  int64_t bytes = options.bucket_bytes >= 0 ? options.bucket_bytes : strategy.bucket_bytes;
  if (bytes < 0) bytes = BucketBytes(kLatency, kBytesPerSecond);
  return BucketAllReduces(graph, bytes);
}

absl::StatusOr<Graph> MakeEvaluation(const Graph& training, const Graph& forward, const Strategy& strategy,
                                     const OpRegistry& registry, const ProgramOptions& options) {
  ASSIGN_OR_RETURN(Graph prepared, PrepareEvaluation(forward, registry));
  if (options.fuse) prepared = FuseNormalizeRelu(std::move(prepared));
  ASSIGN_OR_RETURN(prepared, InMicroBatches(std::move(prepared), strategy.pipeline, registry));
  std::map<std::string, Layout> states;
  for (const State& state : training.states()) {
    states[training.value(state.value).name] = training.layout(state.value);
  }
  ASSIGN_OR_RETURN(Graph graph, Partition(prepared, strategy, registry, states));
  LayoutBuilder builder(graph, registry);
  ResolveResults(builder);
  ASSIGN_OR_RETURN(graph, InPipelineOrder(DropUnused(graph), strategy.pipeline));
  return BucketAllReduces(graph, BucketBytes(kLatency, kBytesPerSecond));
}

}  // namespace

absl::StatusOr<Program> MakeProgram(const Model& model, const Strategy& strategy, const OpRegistry& registry,
                                    const ProgramOptions& options) {
  RETURN_IF_ERROR(CheckStrategy(strategy, model.graph));
  const Graph forward = options.floating == DType::kF32 ? model.graph : ConvertDType(model.graph, options.floating);
  Program program;
  program.mesh = strategy.mesh;
  ASSIGN_OR_RETURN(program.train, MakeTraining(model, forward, strategy, registry, options));
  ASSIGN_OR_RETURN(program.evaluate, MakeEvaluation(program.train, forward, strategy, registry, options));
  CollectGroups(program.train, program);
  CollectGroups(program.evaluate, program);
  return program;
}

void CollectGroups(const Graph& graph, Program& program) {
  std::set<std::vector<int>> seen;
  for (const CommunicationGroup& group : program.groups) seen.insert(group.axes);
  for (const Node& node : graph.nodes()) {
    if (!node.op->move || node.op->name == "slice_move" || node.op->name == "drop" || node.op->name == "zero_extend")
      continue;
    const std::vector<int> axes = MoveAxes(node, graph.mesh());
    if (!seen.insert(axes).second) continue;
    for (int rank = 0; rank < graph.mesh().size(); ++rank) {
      std::vector<int> ranks = graph.mesh().Group(rank, axes);
      if (ranks[0] == rank) program.groups.push_back({axes, std::move(ranks)});
    }
  }
}

std::vector<MoveBytes> PredictBytes(const Program& program, const Graph& entry) {
  std::vector<MoveBytes> bytes(program.groups.size());
  for (const Node& node : entry.nodes()) {
    if (!node.op->move) continue;
    const std::vector<int> axes = MoveAxes(node, entry.mesh());
    for (size_t g = 0; g < program.groups.size(); ++g) {
      if (program.groups[g].axes == axes) bytes[g] += BytesOfNode(entry, node, program.groups[g].ranks);
    }
  }
  return bytes;
}

}  // namespace partita
