#include "graph/passes/order_pipeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int kEveryStage = -1;

class PipelineSorter {
 public:
  PipelineSorter(const Graph& graph, const Pipeline& pipeline)
      : graph_(graph),
        axis_(FindAxis(graph.meshes(), pipeline.stage_axis)),
        stages_(StagesOf(graph, pipeline)),
        local_(pipeline.order == PipelineOrder::kLocal),
        times_(pipeline.order, std::max(1, stages_), pipeline.micro_batches),
        time_(graph.nodes().size()) {
    for (size_t stage = 0; stage < pipeline.stage_meshes.size(); ++stage) {
      for (const Mesh& mesh : graph.meshes()) {
        if (mesh.id > 0 && mesh.name == pipeline.stage_meshes[stage]) stage_of_[mesh.id] = static_cast<int>(stage);
      }
    }
  }

  absl::StatusOr<std::vector<NodeId>> Run() {
    const std::vector<bool> first = ComeFirst();
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const Node& node = graph_.node(id);
      RETURN_IF_ERROR(CheckStages(id));
      time_[id] = first[id] ? 0 : TimeOfTask(node);
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) time_[id] = std::max(time_[id], time_[graph_.value(input).producer]);
      }
    }
    std::vector<NodeId> order(graph_.nodes().size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return time_[a] < time_[b]; });
    return order;
  }

 private:
  // 0: all is one stage.
  static int StagesOf(const Graph& graph, const Pipeline& pipeline) {
    if (!pipeline.stage_meshes.empty()) return static_cast<int>(pipeline.stage_meshes.size());
    const AxisPlace axis = FindAxis(graph.meshes(), pipeline.stage_axis);
    return axis.mesh < 0 ? 0 : graph.meshes()[axis.mesh].axes[axis.axis].size;
  }

  // Where a node computes: the coordinate on the stage axis or the number of the mesh among the stages; kEveryStage if
  // it is not on one rank of that axis, or on another mesh.
  int StageOf(const Node& node) const {
    if (stages_ == 0) return 0;
    const Layout& layout = graph_.layout(node.outputs[0]);
    if (!stage_of_.empty()) {
      const auto stage = stage_of_.find(layout.mesh);
      return stage == stage_of_.end() ? kEveryStage : stage->second;
    }
    const bool at = layout.mesh == axis_.mesh && layout[axis_.axis].at();
    return at ? layout[axis_.axis].coordinate : kEveryStage;
  }

  // The nodes that make single numbers of inputs, and those inputs, perhaps moved.
  std::vector<bool> ComeFirst() const {
    const auto count = static_cast<NodeId>(graph_.nodes().size());
    std::vector<bool> of_inputs(count), first(count);
    const auto every_input = [&](const Node& node, const auto& f) {
      return !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](ValueId input) {
        return input == kNoValue || f(graph_.value(input).producer);
      });
    };
    for (NodeId id = 0; id < count; ++id) {
      const Node& node = graph_.node(id);
      const bool reads_inputs = every_input(node, [&](NodeId producer) { return of_inputs[producer]; });
      of_inputs[id] = node.op->role == Role::kInput || (node.op->move && reads_inputs);
      first[id] = reads_inputs && !node.op->move && node.phase == Phase::kForward && node.outputs.size() == 1 &&
                  graph_.type(node.outputs[0]).shape.empty();
    }
    for (NodeId id = count; id-- > 0;) {
      if (!first[id]) continue;
      for (const ValueId input : graph_.node(id).inputs) {
        if (input != kNoValue) first[graph_.value(input).producer] = true;
      }
    }
    return first;
  }

  int64_t TimeOfTask(const Node& node) const {
    if (node.phase == Phase::kUpdate) return std::numeric_limits<int64_t>::max();
    const int stage = StageOf(node);
    // A move comes when what it moves is there, for whoever is to have it.
    if (node.micro_batch < 0 || stage == kEveryStage || node.op->move) return 0;
    return times_.At(stage, {node.micro_batch, node.phase == Phase::kBackward});
  }

  // In the order `local` of gradients too.
  absl::Status CheckStages(NodeId id) const {
    const Node& node = graph_.node(id);
    const bool checked = node.phase == Phase::kForward || (local_ && node.phase == Phase::kBackward);
    if (stages_ == 0 || !node.op->move || !checked || node.micro_batch < 0) return absl::OkStatus();
    const Node& producer = graph_.node(graph_.value(node.inputs[0]).producer);
    const int from = StageOf(producer), to = StageOf(node);
    if (from == kEveryStage || to == kEveryStage || from <= to || producer.micro_batch < 0) return absl::OkStatus();
    return ComesBack(node.phase, UserNameOf(graph_.value(node.inputs[0]).name), from, to);
  }

  static absl::Status ComesBack(Phase phase, const std::string& name, int from, int to) {
    if (phase == Phase::kBackward) {
      return InvalidArgument(
          "the gradient of '{}' goes from stage {} back to stage {}; pipeline 'local' is for stages "
          "that get none, such as blocks behind stop_gradient",
          name, from, to);
    }
    return InvalidArgument(
        "'{}' is computed on stage {} and read on stage {}: stages form a cycle; a stage may only "
        "read what it or an earlier stage computes",
        name, from, to);
  }

  const Graph& graph_;
  const AxisPlace axis_;
  const int stages_;
  const bool local_;
  std::map<int, int> stage_of_;  // by mesh
  const PipelineTimes times_;
  std::vector<int64_t> time_;  // by node
};

}  // namespace

absl::StatusOr<Graph> OrderPipeline(const Graph& graph, const Pipeline& pipeline) {
  ASSIGN_OR_RETURN(const std::vector<NodeId> order, PipelineSorter(graph, pipeline).Run());
  Rewriter rewriter(graph);
  for (const NodeId id : order) rewriter.Copy(id);
  return rewriter.Finish();
}

}  // namespace partita
