#include "run/plan_report/plan_proto.h"

#include <algorithm>
#include <map>
#include <span>
#include <variant>

#include "graph/ir/group_key.h"
#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/moves/halo.h"
#include "graph/moves/plan_exchange.h"
#include "graph/schedule/group_table.h"
#include "graph/timeline/step_times.h"
#include "partitioner/cost/check_fits.h"
#include "partitioner/simulate/simulate.h"
#include "run/host/version.h"
#include "run/plan_report/plan_processes.h"
#include "run/plan_report/timeline.h"
#include "runtime/base/status.h"
#include "runtime/exec/kernel.h"

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
void CountCollectives(const Program& program, const FoldedSchedules& train, PlanProto& plan) {
  const GroupTable groups(program);
  std::vector<std::vector<int>> calls;  // by schedule and key of a group
  for (const Schedule& schedule : train.schedules) {
    std::vector<int>& by_key = calls.emplace_back(static_cast<size_t>(groups.keys()), 0);
    for (const Launch& launch : schedule.launches) {
      const auto* const collective = std::get_if<CollectiveLaunch>(&launch.work);
      if (collective != nullptr) ++by_key[static_cast<size_t>(groups.KeyOf(collective->group))];
    }
  }
  for (int g = 0; g < static_cast<int>(program.groups.size()); ++g) {
    const int first = program.groups[static_cast<size_t>(g)].ranks[0];
    const auto place = static_cast<size_t>(train.of_rank[static_cast<size_t>(first)]);
    plan.mutable_groups(g)->set_operations(calls[place][static_cast<size_t>(groups.KeyOf(g))]);
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

// As the executor makes them of an arena, which is nowhere here.
KernelArguments ArgumentsOf(const KernelLaunch& launch) {
  constexpr uintptr_t kArena = uintptr_t{1} << 40;
  const auto address = [](int64_t offset) {
    return offset < 0 ? nullptr : reinterpret_cast<void*>(kArena + static_cast<uintptr_t>(offset));
  };
  KernelArguments arguments;
  for (const int64_t input : launch.inputs) arguments.inputs.push_back(address(input));
  for (const int64_t output : launch.outputs) arguments.outputs.push_back(address(output));
  arguments.workspace = address(launch.workspace);
  return arguments;
}

int LaunchesOf(const CopyLaunch& launch) {
  return (launch.zero.bytes > 0 ? 1 : 0) + static_cast<int>(launch.copies.size());
}

absl::Status SetDetails(const KernelLaunch& launch, const KernelLibrary& kernels, PlanLocalProto& entry) {
  ASSIGN_OR_RETURN(const KernelDetails details, kernels.Describe(launch.node, launch.choice, ArgumentsOf(launch)));
  entry.set_launches(details.launches);
  entry.set_engine(details.engine);
  if (!details.roofline) return absl::OkStatus();
  entry.mutable_roofline()->set_compute_seconds(details.roofline->compute_seconds);
  entry.mutable_roofline()->set_memory_seconds(details.roofline->memory_seconds);
  entry.mutable_roofline()->set_bound(details.roofline->compute_bound() ? "compute" : "memory");
  return absl::OkStatus();
}

absl::Status SetKernel(const KernelLaunch& launch, const KernelLibrary& kernels, PlanLocalProto& entry) {
  entry.set_kernel(launch.choice.kernel);
  entry.set_workspace_bytes(launch.choice.workspace_bytes);
  entry.set_remark(launch.choice.remark);
  for (const int64_t size : launch.node.outputs[0].shape()) entry.add_shape(size);
  return SetDetails(launch, kernels, entry);
}

// Sums over the launches of a rank.
void SetSums(const Schedule& schedule, PlanRankProto& rank) {
  double flops = 0, seconds = 0;
  int64_t launches = 0;
  for (const Launch& launch : schedule.launches) {
    if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) flops += FlopsOf(kernel->node);
  }
  for (const PlanLocalProto& node : rank.nodes()) {
    launches += node.launches();
    seconds += std::max(node.roofline().compute_seconds(), node.roofline().memory_seconds());
  }
  rank.set_flops(flops);
  rank.set_launches(launches);
  rank.set_roofline_seconds(seconds);
}

absl::Status AddLaunches(const Schedule& schedule, const KernelLibrary& kernels, PlanRankProto& rank) {
  for (const Launch& launch : schedule.launches) {
    if (std::holds_alternative<HostLaunch>(launch.work)) continue;
    PlanLocalProto* const entry = rank.add_nodes();
    entry->set_name(launch.name);
    entry->set_stream(launch.stream);
    entry->set_launches(1);
    if (const auto* const copy = std::get_if<CopyLaunch>(&launch.work)) entry->set_launches(LaunchesOf(*copy));
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel != nullptr) RETURN_IF_ERROR(SetKernel(*kernel, kernels, *entry));
  }
  SetSums(schedule, rank);
  return absl::OkStatus();
}

void SetMemory(const MemoryUse& use, PlanMemoryProto& memory) {
  memory.set_parameter_bytes(use.parameters);
  memory.set_state_bytes(use.states);
  memory.set_input_bytes(use.inputs);
  memory.set_activation_bytes(use.activations);
  memory.set_workspace_bytes(use.workspace);
  memory.set_total_bytes(use.total);
}

int64_t LargestWorkspace(const Schedule& schedule) {
  int64_t largest = 0;
  for (const Launch& launch : schedule.launches) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel != nullptr) largest = std::max(largest, kernel->choice.workspace_bytes);
  }
  return largest;
}

// Of kernels and copies.
double FixedSeconds(std::span<const LaunchSpan> spans, const DeviceKind& kind) {
  double seconds = 0;
  for (const LaunchSpan& span : spans) {
    const auto& work = span.launch->work;
    if (std::holds_alternative<HostLaunch>(work) || std::holds_alternative<CollectiveLaunch>(work)) continue;
    seconds += std::min(kind.launch_seconds, span.end - span.begin);
  }
  return seconds;
}

PlanTimeProto TimeProto(const StepTimes& times, double fixed) {
  PlanTimeProto time;
  time.set_compute_seconds(times.compute);
  time.set_communication_seconds(times.communication);
  time.set_exposed_seconds(times.exposed);
  time.set_idle_seconds(times.idle);
  time.set_step_seconds(times.step);
  time.set_launch_seconds(std::min(fixed, times.compute));
  return time;
}

absl::Status SetTimes(const Program& program, std::span<const Schedule* const> schedules, const Cluster& cluster,
                      const KernelTimes& times, const std::string& trace, PlanProto& plan) {
  RETURN_IF_ERROR(CheckFits(schedules, cluster));
  plan.set_cluster(cluster.name);
  ASSIGN_OR_RETURN(const SimulatedStep step, Simulate(program, schedules, cluster, {.times = times}));
  std::vector<PlanTimeProto> classes;
  for (const RankTimeline& timeline : step.timelines) {
    const double fixed = times.empty() ? FixedSeconds(timeline.spans, cluster.KindOf(timeline.rank)) : 0;
    classes.push_back(TimeProto(TimesOf(timeline.spans), fixed));
  }
  for (int r = 0; r < program.ranks(); ++r) *plan.mutable_ranks(r)->mutable_time() = classes[step.of_rank[r]];
  return trace.empty() ? absl::OkStatus() : SaveTimelines(step.timelines, trace);
}

// What the devices have, of whose memory the ranks' is known.
void AddRooms(const Cluster& cluster, PlanProto& plan) {
  std::map<int, int64_t> in_domain;
  for (const PlanRankProto& rank : plan.ranks())
    in_domain[cluster.devices[rank.rank()].domain] += rank.memory().total_bytes();
  for (PlanRankProto& rank : *plan.mutable_ranks()) {
    const DeviceKind& kind = cluster.KindOf(rank.rank());
    PlanRoomProto& room = *rank.mutable_room();
    room.set_device(kind.name);
    room.set_memory_bytes(kind.memory_bytes);
    room.set_sharing(RanksSharingCores(cluster, rank.rank(), plan.ranks_size()));
    room.set_used_bytes(kind.cores_shared ? in_domain[cluster.devices[rank.rank()].domain]
                                          : rank.memory().total_bytes());
  }
}

// By rank: the memory of its largest arena, of all entry points.
class LargestArenas {
 public:
  explicit LargestArenas(int ranks) : by_rank_(static_cast<size_t>(ranks)) {}

  void Take(const FoldedSchedules& folded) {
    std::vector<PlanMemoryProto> memory(folded.schedules.size());
    for (size_t s = 0; s < memory.size(); ++s) {
      SetMemory(folded.schedules[s].memory, memory[s]);
      memory[s].set_largest_workspace_bytes(LargestWorkspace(folded.schedules[s]));
    }
    for (size_t r = 0; r < by_rank_.size(); ++r) {
      const PlanMemoryProto& own = memory[static_cast<size_t>(folded.of_rank[r])];
      if (own.total_bytes() > by_rank_[r].total_bytes()) by_rank_[r] = own;
    }
  }

  const PlanMemoryProto& Of(int rank) const { return by_rank_[static_cast<size_t>(rank)]; }

 private:
  std::vector<PlanMemoryProto> by_rank_;
};

// One for each schedule: what a rank does and how much, without the rank.
absl::StatusOr<std::vector<PlanRankProto>> KindsOf(const FoldedSchedules& train, const KernelLibrary& kernels) {
  std::vector<PlanRankProto> kinds;
  for (const Schedule& schedule : train.schedules) {
    RETURN_IF_ERROR(AddLaunches(schedule, kernels, kinds.emplace_back()));
  }
  return kinds;
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const std::string& model, const Program& program, const Backend& backend,
                              const Cluster* cluster, const KernelTimes& times, const std::string& trace) {
  if (cluster != nullptr) RETURN_IF_ERROR(CheckRanks(*cluster, program.ranks()));
  Plan made;
  PlanProto& plan = made.proto;
  plan.set_schema_version(1);
  plan.set_tool_version(kToolVersion);
  plan.set_model(model);
  SetBackend(backend, *plan.mutable_backend());
  AddMeshes(program.meshes, plan);
  AddGroups(program, plan);
  AddNodes(program, plan);
  ASSIGN_OR_RETURN(const FoldedSchedules train, backend.MakeFoldedSchedules(program, program.graph(kTrainEntry)));
  LargestArenas arenas(program.ranks());
  arenas.Take(train);
  ASSIGN_OR_RETURN(const FoldedSchedules evaluate, backend.MakeFoldedSchedules(program, program.graph(kEvaluateEntry)));
  arenas.Take(evaluate);
  for (const EntryPoint& entry : program.entries) {
    if (entry.name == kTrainEntry || entry.name == kEvaluateEntry) continue;
    ASSIGN_OR_RETURN(const FoldedSchedules other, backend.MakeFoldedSchedules(program, entry.graph));
    arenas.Take(other);
  }
  ASSIGN_OR_RETURN(std::vector<PlanRankProto> kinds, KindsOf(train, backend.kernels()));
  for (PlanRankProto& kind : kinds) made.launches.push_back(std::move(*kind.mutable_nodes()));
  made.of_rank = train.of_rank;
  for (int r = 0; r < program.ranks(); ++r) {
    const PlanRankProto& kind = kinds[static_cast<size_t>(train.of_rank[static_cast<size_t>(r)])];
    PlanRankProto* const rank = plan.add_ranks();
    rank->set_rank(r);
    rank->set_flops(kind.flops());
    rank->set_launches(kind.launches());
    rank->set_roofline_seconds(kind.roofline_seconds());
    *rank->mutable_memory() = arenas.Of(r);
  }
  CountCollectives(program, train, plan);
  const std::vector<const Schedule*> by_rank = train.ByRank();
  AddProcesses(program, backend, by_rank, plan);
  if (cluster == nullptr) return made;
  AddRooms(*cluster, plan);
  RETURN_IF_ERROR(SetTimes(program, by_rank, *cluster, times, trace, plan));
  return made;
}

}  // namespace partita
