#include "tools/commands/output/plan_proto.h"

#include "graph/ir/group_key.h"
#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/moves/halo.h"
#include "graph/moves/plan_exchange.h"
#include "runtime/base/status.h"
#include "tools/program/version.h"

namespace partita {
namespace {

void AddAxes(const Mesh& mesh, google::protobuf::RepeatedPtrField<PlanAxisProto>& axes) {
  for (const MeshAxis& axis : mesh.axes) {
    PlanAxisProto* const entry = axes.Add();
    entry->set_name(axis.name);
    entry->set_size(axis.size);
  }
}

void AddMeshes(const std::vector<Mesh>& meshes, PlanProto& plan) {
  AddAxes(meshes[0], *plan.mutable_mesh());
  for (size_t m = 1; m < meshes.size(); ++m) {
    PlanMeshProto* const entry = plan.add_further_meshes();
    entry->set_name(meshes[m].name);
    AddAxes(meshes[m], *entry->mutable_axes());
    for (const int rank : meshes[m].Ranks()) entry->add_ranks(rank);
  }
}

void SetBackend(const Backend& backend, PlanBackendProto& plan) {
  plan.set_device(backend.device_name());
  plan.set_processes(backend.spread() == Spread::kProcesses);
  plan.set_threads_per_rank(backend.threads_per_rank());
  plan.set_missing(std::string(backend.gpu_missing().message()));
}

void AddGroups(const Program& program, PlanProto& plan) {
  const std::vector<MoveBytes> bytes = PredictBytes(program, program.graph(kTrainEntry));
  for (size_t g = 0; g < program.groups.size(); ++g) {
    PlanGroupProto* const entry = plan.add_groups();
    const GroupKey& key = program.groups[g].key;
    for (const std::string& name : NamesOf(key, program.meshes)) {
      key.between() ? entry->add_meshes(name) : entry->add_axes(name);
    }
    for (const int rank : program.groups[g].ranks) entry->add_ranks(rank);
    entry->set_payload_bytes(bytes[g].payload);
    entry->set_wire_bytes(bytes[g].wire);
  }
}

// Every rank of a group takes part in all its collectives: its first one counts them.
void CountCollectives(const Program& program, const Schedule& schedule, PlanProto& plan) {
  for (const Launch& launch : schedule.launches) {
    const auto* const collective = std::get_if<CollectiveLaunch>(&launch.work);
    if (collective == nullptr || program.groups[collective->group].ranks[0] != schedule.rank) continue;
    PlanGroupProto* const group = plan.mutable_groups(collective->group);
    group->set_operations(group->operations() + 1);
  }
}

// Axes that split one dimension together have blocks within blocks, which no list of widths describes.
void SetGhosts(const Graph& graph, const Node& move, PlanNodeProto& entry) {
  const std::vector<int> axes = MoveAxes(graph, move);
  if (move.op->move != MoveKind::kHalo || axes.size() != 1) return;
  const int size = graph.mesh(move.inputs[0]).axes[axes[0]].size;
  const Value& x = graph.value(move.inputs[0]);
  const AxisLayout& owned = x.layout[axes[0]];
  const AxisLayout& needed = graph.layout(move.outputs[0])[axes[0]];
  const auto cuts = [&](const AxisLayout& axis, int64_t n) {
    return axis.cuts.empty() ? BalancedCuts(n, size) : axis.cuts;
  };
  const int64_t n = x.type.shape[needed.dimension];
  entry.mutable_ghosts()->set_dimension(needed.dimension);
  for (const HaloBlock& block :
       PlanHalo(n, cuts(owned, n), cuts(needed, needed.windows->count), *needed.windows).blocks) {
    entry.mutable_ghosts()->add_before(block.left);
    entry.mutable_ghosts()->add_behind(block.right);
  }
}

void SetMove(const Program& program, const Node& move, PlanNodeProto& entry) {
  const GroupKey key = KeyOf(program.graph(kTrainEntry), move);
  for (const std::string& name : NamesOf(key, program.meshes)) {
    key.between() ? entry.add_meshes(name) : entry.add_axes(name);
  }
  MoveBytes bytes;
  for (const CommunicationGroup& group : program.groups) {
    if (group.key == key) bytes += BytesOfNode(program.graph(kTrainEntry), move, group.ranks);
  }
  if (IsExchange(*move.op) && move.attributes.String("mode") != Name(ExchangeMode::kDirect)) {
    entry.set_mode(move.attributes.String("mode"));
    entry.set_chunks(static_cast<int32_t>(move.attributes.Int("chunks")));
  }
  entry.set_payload_bytes(bytes.payload);
  entry.set_wire_bytes(bytes.wire);
}

void AddNodes(const Program& program, PlanProto& plan) {
  const Graph& graph = program.graph(kTrainEntry);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const Value& output = graph.value(node.outputs[0]);
    PlanNodeProto* const entry = plan.add_nodes();
    entry->set_name(output.name);
    entry->set_op(node.op->name);
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) entry->add_inputs(graph.value(input).name);
    }
    entry->set_type(fmt::format("{}{}", Name(output.type.dtype), ToString(output.type.shape)));
    entry->set_layout(ToString(output.layout, graph.mesh(output.layout)));
    entry->set_phase(Name(node.phase));
    entry->set_flops(FlopsOf(graph, node));
    for (const ValueId value : node.outputs) entry->add_outputs(graph.value(value).name);
    if (node.op->move) SetMove(program, node, *entry);
    if (node.op->move) SetGhosts(graph, node, *entry);
  }
}

void AddLaunches(const Schedule& schedule, PlanRankProto& rank) {
  double flops = 0;
  for (const Launch& launch : schedule.launches) {
    if (std::holds_alternative<HostLaunch>(launch.work)) continue;
    PlanLocalProto* const entry = rank.add_nodes();
    entry->set_name(launch.name);
    entry->set_stream(launch.stream);
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel == nullptr) continue;
    entry->set_kernel(kernel->choice.kernel);
    entry->set_workspace_bytes(kernel->choice.workspace_bytes);
    entry->set_remark(kernel->choice.remark);
    for (const int64_t size : kernel->node.outputs[0].shape()) entry->add_shape(size);
    flops += FlopsOf(kernel->node);
  }
  rank.set_flops(flops);
}

void SetMemory(const MemoryUse& use, PlanMemoryProto& memory) {
  memory.set_parameter_bytes(use.parameters);
  memory.set_state_bytes(use.states);
  memory.set_input_bytes(use.inputs);
  memory.set_activation_bytes(use.activations);
  memory.set_workspace_bytes(use.workspace);
  memory.set_total_bytes(use.total);
}

}  // namespace

absl::StatusOr<PlanProto> MakePlan(const std::string& model, const Program& program, const Backend& backend) {
  PlanProto plan;
  plan.set_schema_version(1);
  plan.set_tool_version(kToolVersion);
  plan.set_model(model);
  SetBackend(backend, *plan.mutable_backend());
  AddMeshes(program.meshes, plan);
  AddGroups(program, plan);
  AddNodes(program, plan);
  ASSIGN_OR_RETURN(const std::vector<Schedule> train, backend.MakeSchedules(program, program.graph(kTrainEntry)));
  ASSIGN_OR_RETURN(const std::vector<Schedule> evaluate, backend.MakeSchedules(program, program.graph(kEvaluateEntry)));
  for (int r = 0; r < program.ranks(); ++r) {
    PlanRankProto* const rank = plan.add_ranks();
    rank->set_rank(r);
    AddLaunches(train[r], *rank);
    SetMemory(train[r].memory.total >= evaluate[r].memory.total ? train[r].memory : evaluate[r].memory,
              *rank->mutable_memory());
    CountCollectives(program, train[r], plan);
  }
  return plan;
}

}  // namespace partita
