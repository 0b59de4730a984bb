#include "graph/make_schedule.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "graph/group_updates.h"
#include "graph/launch_halos_early.h"
#include "graph/lower_graph.h"
#include "graph/memory_plan.h"
#include "graph/op_definition.h"
#include "graph/storage.h"
#include "graph/streams.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What a rank holds of a value that an At keeps elsewhere.
Box NoBox(const Shape& shape) { return {Shape(shape.size(), 0), Shape(shape.size(), 0)}; }

// Gives tensors their addresses and copies them into the schedule.
class Binder {
 public:
  Binder(const Program& program, const Graph& entry, LocalGraph& local, LocalProgram& lowered,
         const StoragePlan& storage, const MemoryPlan& memory, Schedule& schedule)
      : program_(program),
        graph_(entry),
        local_(local),
        lowered_(lowered),
        storage_(storage),
        memory_(memory),
        schedule_(schedule),
        maker_(lowered.tensors.size(), -1) {}

  void Run() {
    BindLaunches();
    BindStates();
    BindInputs();
    BindResults();
    BindValues();
    schedule_.lifetimes.reserve(storage_.storages.size());
    for (size_t s = 0; s < storage_.storages.size(); ++s) {
      const Storage& storage = storage_.storages[s];
      const bool state = storage.kind == MemoryKind::kParameter || storage.kind == MemoryKind::kState;
      schedule_.lifetimes.push_back({storage.name,
                                     {memory_.offsets[s], storage.bytes},
                                     storage.first,
                                     storage.last,
                                     state,
                                     storage.kind == MemoryKind::kWorkspace});
    }
    schedule_.memory = memory_.use;
  }

 private:
  int64_t OffsetOf(TensorId tensor) const {
    if (tensor < 0) return -1;
    return memory_.offsets[storage_.storage_of[tensor]] + storage_.offset_in[tensor];
  }

  void BindLaunches() {
    schedule_.launches.reserve(lowered_.launches.size());
    for (LocalLaunch& local : lowered_.launches) {
      Launch& launch = schedule_.launches.emplace_back(std::move(local.launch));
      if (const auto* host = std::get_if<HostLaunch>(&launch.work)) {
        for (TensorId tensor : local.operands) {
          launch.accesses.push_back({{OffsetOf(tensor), lowered_.tensors[tensor].bytes}, host->begin});
        }
        continue;
      }
      size_t next = 0;
      VisitOffsets(launch.work, [&](int64_t& offset, bool) {
        if (offset >= 0) offset += OffsetOf(local.operands[next++]);
      });
      CHECK(next == local.operands.size());
      launch.accesses = AccessesOf(launch);
      AddWholeTensors(local.operands, launch);
    }
  }

  // A tensor that several launches make is there when the last of them has ended: each comes after those before it,
  // and nobody overwrites any part of it before.
  void AddWholeTensors(const std::vector<TensorId>& operands, Launch& launch) {
    const int self = static_cast<int>(schedule_.launches.size());
    size_t next = 0;
    VisitOffsets(launch.work, [&](const int64_t& offset, bool write) {
      if (offset < 0) return;
      const TensorId tensor = operands[next++];
      if (!write) return;
      const int before = std::exchange(maker_[tensor], self);
      if (before < 0 || before == self) return;
      launch.accesses.push_back({{OffsetOf(tensor), lowered_.tensors[tensor].bytes}, true});
    });
  }

  LocalTensor Tensor(ValueId value) const {
    const TensorType& type = graph_.type(value);
    return local_.values[value] ? *local_.values[value] : LocalTensor{type.dtype, type.shape, NoBox(type.shape)};
  }

  void BindStates() {
    TensorId tensor = 0;  // LowerGraph makes the states' tensors first, in this order
    for (const State& state : program_.train.states()) {
      const Value& value = program_.train.value(state.value);
      std::optional<Box> box =
          LocalBox(value.layout, value.type.shape, program_.train.mesh(value.layout), schedule_.rank);
      const bool holds = box && !box->empty();
      Placement placement{value.name, {value.type.dtype, value.type.shape, box.value_or(NoBox(value.type.shape))}, -1};
      if (holds) placement.offset = OffsetOf(tensor++);
      schedule_.states.push_back(std::move(placement));
    }
  }

  void BindInputs() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->name != "input") continue;
      const ValueId value = node.outputs[0];
      schedule_.inputs.push_back({graph_.value(value).name, Tensor(value), OffsetOf(lowered_.tensor_of[value])});
    }
  }

  void BindResults() {
    std::unordered_map<ValueId, TensorId> reported;
    for (const Result& result : lowered_.results) reported[result.value] = result.tensor;
    std::vector<ValueId> results = graph_.metrics;
    if (graph_.loss != kNoValue) results.insert(results.begin(), graph_.loss);
    for (ValueId value : results) {
      const auto found = reported.find(value);
      const TensorId tensor = found == reported.end() ? -1 : found->second;
      schedule_.results.push_back({graph_.value(value).name, Tensor(value), OffsetOf(tensor)});
    }
  }

  // The last to be called: it takes the local tensors.
  void BindValues() {
    schedule_.values.reserve(graph_.values().size());
    for (ValueId value = 0; value < static_cast<ValueId>(graph_.values().size()); ++value) {
      const TensorId tensor = lowered_.tensor_of[value];
      const int last_write = tensor < 0 ? -1 : storage_.last_write[tensor];
      LocalTensor placed = local_.values[value] ? *std::move(local_.values[value]) : Tensor(value);
      schedule_.values.push_back({std::move(placed), OffsetOf(tensor), last_write});
    }
  }

  const Program& program_;
  const Graph& graph_;
  LocalGraph& local_;
  LocalProgram& lowered_;
  const StoragePlan& storage_;
  const MemoryPlan& memory_;
  Schedule& schedule_;
  std::vector<int> maker_;  // by tensor: the last launch that writes it, of those bound so far
};

// The launches that make what each launch reads.
std::vector<std::vector<int>> Producers(const LocalProgram& lowered) {
  std::vector<std::vector<int>> producers(lowered.launches.size());
  std::vector<int> writer(lowered.tensors.size(), -1);
  for (size_t l = 0; l < lowered.launches.size(); ++l) {
    VisitTensors(lowered.launches[l], [&](TensorId tensor, bool write) {
      const TensorId inside = lowered.tensors[tensor].inside;
      const int maker = writer[tensor] >= 0 || inside < 0 ? writer[tensor] : writer[inside];
      if (!write && maker >= 0) producers[l].push_back(maker);
    });
    VisitTensors(lowered.launches[l], [&](TensorId tensor, bool write) {
      if (write) writer[tensor] = static_cast<int>(l);
    });
  }
  return producers;
}

// What was planned for ranks so far. Ranks that hold blocks of equal sizes need the same memory plan, streams and
// waits, and with many ranks most of them do.
class SchedulePlanner {
 public:
  SchedulePlanner(const Program& program, const Graph& entry, const KernelCatalogue& kernels,
                  const ScheduleOptions& options)
      : program_(program), entry_(entry), kernels_(kernels), options_(options) {}

  absl::StatusOr<Schedule> Make(int rank) {
    LocalGraph local = Localize(entry_, rank);
    ASSIGN_OR_RETURN(LocalProgram lowered, LowerGraph(program_, entry_, rank, local, kernels_));
    LaunchHalosEarly(lowered, entry_);
    SplitAtHalos(lowered, entry_, local, kernels_, options_.overlap_halo);
    if (options_.group_updates) RETURN_IF_ERROR(GroupUpdates(lowered, kernels_));
    const StoragePlan storage = AssignStorage(lowered);
    ASSIGN_OR_RETURN(const MemoryPlan* memory, Memory(storage.storages, rank));
    std::vector<std::vector<int>> producers = Producers(lowered);
    Schedule schedule;
    schedule.rank = rank;
    Binder(program_, entry_, local, lowered, storage, *memory, schedule).Run();
    AddStreamsAndWaits(std::move(producers), schedule);
    return schedule;
  }

 private:
  // Of different ones; what comes later is planned each by itself.
  static constexpr size_t kMostRemembered = 16;

  struct PlannedMemory {
    std::vector<Storage> storages;
    MemoryPlan plan;
  };

  struct PlannedLaunch {
    size_t kind = 0;  // of its work
    std::vector<int> producers;
    std::vector<Access> accesses;
    int stream = 0;
    std::vector<int> waits;
  };
  struct PlannedOrder {
    std::vector<PlannedLaunch> launches;
    std::vector<OrderEdge> order;
  };

  static bool NeedSamePlace(const Storage& a, const Storage& b) {
    return a.bytes == b.bytes && a.kind == b.kind && a.first == b.first && a.last == b.last &&
           a.last_by_collective == b.last_by_collective;
  }

  absl::StatusOr<const MemoryPlan*> Memory(const std::vector<Storage>& storages, int rank) {
    for (const PlannedMemory& known : memory_) {
      if (std::equal(storages.begin(), storages.end(), known.storages.begin(), known.storages.end(), NeedSamePlace)) {
        return &known.plan;
      }
    }
    MemoryOptions options;
    options.limit = options_.memory_limit;
    options.guard_bytes = options_.guard_bytes;
    options.reuse = options_.reuse_memory;
    if (options_.compute_streams > 1) options.linger = 4 * options_.compute_streams;
    ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(storages, rank, options));
    if (memory_.size() == kMostRemembered) memory_.pop_back();
    memory_.push_back({storages, std::move(plan)});
    return &memory_.back().plan;
  }

  void AddStreamsAndWaits(std::vector<std::vector<int>> producers, Schedule& schedule) {
    const auto same = [&](const PlannedOrder& known) {
      if (known.launches.size() != schedule.launches.size()) return false;
      for (size_t l = 0; l < known.launches.size(); ++l) {
        const PlannedLaunch& other = known.launches[l];
        const Launch& launch = schedule.launches[l];
        if (other.kind != launch.work.index() || other.producers != producers[l]) return false;
        if (other.accesses != launch.accesses) return false;
      }
      return true;
    };
    schedule.streams = options_.compute_streams + 1;
    if (const auto known = std::find_if(orders_.begin(), orders_.end(), same); known != orders_.end()) {
      for (size_t l = 0; l < schedule.launches.size(); ++l) {
        schedule.launches[l].stream = known->launches[l].stream;
        schedule.launches[l].waits = known->launches[l].waits;
      }
      schedule.order = known->order;
      return;
    }
    AssignStreams(producers, options_.compute_streams, schedule);
    DeclareOrder(schedule);
    AssignWaits(schedule);
    if (orders_.size() == kMostRemembered) return;
    PlannedOrder& planned = orders_.emplace_back();
    planned.launches.reserve(schedule.launches.size());
    for (size_t l = 0; l < schedule.launches.size(); ++l) {
      const Launch& launch = schedule.launches[l];
      planned.launches.push_back(
          {launch.work.index(), std::move(producers[l]), launch.accesses, launch.stream, launch.waits});
    }
    planned.order = schedule.order;
  }

  const Program& program_;
  const Graph& entry_;
  const KernelCatalogue& kernels_;
  const ScheduleOptions& options_;
  std::vector<PlannedMemory> memory_;
  std::vector<PlannedOrder> orders_;
};

absl::Status Check(const ScheduleOptions& options) {
  if (options.compute_streams >= 1) return absl::OkStatus();
  return InvalidArgument("{} compute streams; at least 1 is needed", options.compute_streams);
}

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const Program& program, const Graph& entry, int rank,
                                      const KernelCatalogue& kernels, const ScheduleOptions& options) {
  RETURN_IF_ERROR(Check(options));
  if (rank < 0 || rank >= entry.ranks()) {
    return InvalidArgument("rank {} is not on the mesh '{}' of {} ranks", rank, entry.mesh().ToString(), entry.ranks());
  }
  return SchedulePlanner(program, entry, kernels, options).Make(rank);
}

absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels, const ScheduleOptions& options) {
  RETURN_IF_ERROR(Check(options));
  SchedulePlanner planner(program, entry, kernels, options);
  std::vector<Schedule> schedules;
  schedules.reserve(entry.ranks());
  for (int rank = 0; rank < entry.ranks(); ++rank) {
    absl::StatusOr<Schedule> schedule = planner.Make(rank);
    if (!schedule.ok()) return WithContext(fmt::format("rank {}", rank), schedule.status());
    schedules.push_back(*std::move(schedule));
  }
  return schedules;
}

}  // namespace partita
