#include "graph/make_schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/alike/alike_ranks.h"
#include "graph/lower/drop_ones.h"
#include "graph/lower/fold_update_casts.h"
#include "graph/lower/group_updates.h"
#include "graph/lower/join_norms.h"
#include "graph/lower/join_scalars.h"
#include "graph/lower/launch_halos_early.h"
#include "graph/lower/lower_graph.h"
#include "graph/lower/split_at_halos.h"
#include "graph/lower/view_columns.h"
#include "graph/plan/bind_schedule.h"
#include "graph/plan/in_line.h"
#include "graph/plan/memory_plan.h"
#include "graph/plan/storage.h"
#include "graph/plan/stream_work.h"
#include "graph/plan/streams.h"
#include "graph/plan/waits.h"
#include "graph/schedule/localize.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// A schedule and with which values its kernels' operands are displaced.
struct Planned {
  Schedule schedule;
  OperandValues operands;
};

HaloOverlap HaloOverlapOf(const ScheduleOptions& options) {
  if (options.overlap_halo != OverlapHalo::kAuto) return {options.overlap_halo, 0};
  if (!options.speed) return {OverlapHalo::kOff, 0};
  return {OverlapHalo::kAuto, options.speed->hiding_flops};
}

// What was planned for ranks so far. Ranks that hold blocks of equal sizes need the same memory plan, streams and
// waits, also if they are not alike.
class SchedulePlanner {
 public:
  SchedulePlanner(const Program& program, const Graph& entry, const KernelCatalogue& kernels,
                  const ScheduleOptions& options)
      : program_(program), entry_(entry), kernels_(kernels), options_(options) {}

  absl::StatusOr<Planned> Make(int rank, LocalGraph local) {
    ASSIGN_OR_RETURN(LocalProgram lowered,
                     LowerGraph(program_, entry_, rank, local, kernels_,
                                {.exchange_boxes = options_.exchange_boxes, .round_states = options_.group_updates}));
    LaunchHalosEarly(lowered, entry_);
    SplitAtHalos(lowered, entry_, local, kernels_, HaloOverlapOf(options_));
    if (!options_.keep_values) ViewColumns(lowered, kernels_);
    if (options_.group_updates && !options_.keep_values) {
      FoldUpdateCasts(lowered);
      RETURN_IF_ERROR(DropOnes(lowered, kernels_));
      RETURN_IF_ERROR(JoinNorms(lowered, kernels_));
    }
    if (options_.group_updates) RETURN_IF_ERROR(JoinScalars(lowered, kernels_));
    if (options_.group_updates) RETURN_IF_ERROR(GroupUpdates(lowered, kernels_));
    const StoragePlan storage = AssignStorage(lowered);
    const auto [streams, used] = options_.compute_streams == 1 ? OneStream(lowered) : SeveralStreams(lowered);
    ASSIGN_OR_RETURN(const MemoryPlan* memory, Memory(storage.storages, used));
    OperandValues operands = OperandValuesOf(lowered);
    Schedule schedule = BindSchedule(program_, entry_, rank, std::move(local), std::move(lowered), storage, *memory);
    schedule.streams = options_.compute_streams + 1;
    for (size_t l = 0; l < streams.size(); ++l) schedule.launches[l].stream = streams[l];
    AddWaits(schedule);
    return Planned{std::move(schedule), std::move(operands)};
  }

 private:
  // Of different ones; what comes later is planned each by itself.
  static constexpr size_t kMostRemembered = 16;

  struct Streams {
    std::vector<int> of_launch;
    int used = 1;  // of those that compute
  };

  // Nothing is to be chosen by time, so none is reckoned.
  static Streams OneStream(const LocalProgram& lowered) {
    const std::vector<bool> in_line = RunsInLine(lowered);
    Streams streams;
    streams.of_launch.reserve(lowered.launches.size());
    for (size_t l = 0; l < lowered.launches.size(); ++l) {
      streams.of_launch.push_back(in_line[l] ? 0 : static_cast<int>(LaneOf(lowered.launches[l])));
    }
    return streams;
  }

  Streams SeveralStreams(const LocalProgram& lowered) const {
    const std::vector<StreamWork> work = StreamWorkOf(lowered, options_.speed);
    const double wait_seconds = options_.speed ? options_.speed->device.wait_seconds : 0;
    std::vector<int> streams = AssignStreams(work, options_.compute_streams, wait_seconds);
    const int used = StreamsUsed(work, streams);
    return {std::move(streams), used};
  }

  struct PlannedMemory {
    std::vector<Storage> storages;
    int linger = 0;
    MemoryPlan plan;
  };

  struct PlannedLaunch {
    int stream = 0;
    std::vector<Access> accesses;
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

  absl::StatusOr<const MemoryPlan*> Memory(const std::vector<Storage>& storages, int streams_used) {
    const int linger = streams_used > 1 ? 4 * streams_used : 0;
    for (const PlannedMemory& known : memory_) {
      if (known.linger != linger) continue;
      if (std::equal(storages.begin(), storages.end(), known.storages.begin(), known.storages.end(), NeedSamePlace)) {
        return &known.plan;
      }
    }
    MemoryOptions options = MemoryOptionsOf(linger);
    if (linger > 0 && options_.device_bytes > 0) {
      options.limit = options.limit == 0 ? options_.device_bytes : std::min(options.limit, options_.device_bytes);
    }
    absl::StatusOr<MemoryPlan> plan = PlanMemory(storages, options);
    // Rather waits than no plan.
    if (linger > 0 && absl::IsResourceExhausted(plan.status())) plan = PlanMemory(storages, MemoryOptionsOf(0));
    RETURN_IF_ERROR(plan.status());
    if (memory_.size() == kMostRemembered) memory_.pop_back();
    memory_.push_back({storages, linger, *std::move(plan)});
    return &memory_.back().plan;
  }

  MemoryOptions MemoryOptionsOf(int linger) const {
    MemoryOptions options;
    options.limit = options_.memory_limit;
    options.guard_bytes = options_.guard_bytes;
    options.reuse = options_.reuse_memory;
    options.linger = linger;
    return options;
  }

  void AddWaits(Schedule& schedule) {
    const auto same = [&](const PlannedOrder& known) {
      return std::equal(known.launches.begin(), known.launches.end(), schedule.launches.begin(),
                        schedule.launches.end(), [](const PlannedLaunch& planned, const Launch& launch) {
                          return planned.stream == launch.stream && planned.accesses == launch.accesses;
                        });
    };
    if (const auto known = std::find_if(orders_.begin(), orders_.end(), same); known != orders_.end()) {
      for (size_t l = 0; l < schedule.launches.size(); ++l) schedule.launches[l].waits = known->launches[l].waits;
      schedule.order = known->order;
      return;
    }
    DeclareOrder(schedule);
    AssignWaits(schedule);
    if (orders_.size() == kMostRemembered) return;
    PlannedOrder& planned = orders_.emplace_back();
    planned.launches.reserve(schedule.launches.size());
    for (const Launch& launch : schedule.launches) {
      planned.launches.push_back({launch.stream, launch.accesses, launch.waits});
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

// Plans one of several alike ranks.
class Folding {
 public:
  Folding(const Program& program, const Graph& entry, const KernelCatalogue& kernels, const ScheduleOptions& options)
      : entry_(entry), planner_(program, entry, kernels, options), alike_(program, entry) {}

  absl::StatusOr<FoldedSchedules> Run() {
    for (int rank = 0; rank < entry_.ranks(); ++rank)
      RETURN_IF_ERROR(WithContext(fmt::format("rank {}", rank), Add(rank)));
    return std::move(made_);
  }

 private:
  // Planned ranks of one hash that are not alike. A later rank is compared with these alone.
  static constexpr size_t kMostModels = 16;

  struct Model {
    RankShare share;
    int place = 0;  // among the schedules
  };

  absl::Status Add(int rank) {
    RankShare share = alike_.ShareOf(rank);
    std::vector<Model>& models = models_[alike_.HashOf(share)];
    for (const Model& model : models) {
      if (!alike_.Alike(model.share, share)) continue;
      made_.of_rank.push_back(model.place);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Planned planned, planner_.Make(rank, Localize(entry_, rank)));
    const int place = static_cast<int>(made_.schedules.size());
    made_.of_rank.push_back(place);
    made_.schedules.push_back(std::move(planned.schedule));
    made_.operands.push_back(std::move(planned.operands));
    if (models.size() < kMostModels) models.push_back({std::move(share), place});
    return absl::OkStatus();
  }

  const Graph& entry_;
  SchedulePlanner planner_;
  AlikeRanks alike_;
  std::unordered_map<size_t, std::vector<Model>> models_;  // by AlikeRanks::HashOf
  FoldedSchedules made_;
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
  ASSIGN_OR_RETURN(Planned planned,
                   SchedulePlanner(program, entry, kernels, options).Make(rank, Localize(entry, rank)));
  return std::move(planned.schedule);
}

absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels, const ScheduleOptions& options) {
  return OrExhausted("the schedules", [&]() -> absl::StatusOr<std::vector<Schedule>> {
    ASSIGN_OR_RETURN(const FoldedSchedules folded, MakeFoldedSchedules(program, entry, kernels, options));
    return SchedulesOfRanks(program, entry, folded, entry.mesh().Ranks());
  });
}

std::vector<const Schedule*> FoldedSchedules::ByRank() const {
  std::vector<const Schedule*> by_rank;
  for (const int place : of_rank) by_rank.push_back(&schedules[static_cast<size_t>(place)]);
  return by_rank;
}

absl::StatusOr<FoldedSchedules> MakeFoldedSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels, const ScheduleOptions& options) {
  return OrExhausted("the schedules", [&]() -> absl::StatusOr<FoldedSchedules> {
    RETURN_IF_ERROR(Check(options));
    return Folding(program, entry, kernels, options).Run();
  });
}

std::vector<Schedule> SchedulesOfRanks(const Program& program, const Graph& entry, const FoldedSchedules& folded,
                                       std::span<const int> ranks) {
  AlikeRanks alike(program, entry);
  std::vector<Schedule> schedules;
  schedules.reserve(ranks.size());
  for (const int rank : ranks) {
    const auto place = static_cast<size_t>(folded.of_rank[static_cast<size_t>(rank)]);
    const Schedule& like = folded.schedules[place];
    if (like.rank == rank) {
      schedules.push_back(like);
      continue;
    }
    const std::optional<Displacement> displacement = alike.Between(alike.ShareOf(like.rank), alike.ShareOf(rank));
    CHECK(displacement.has_value());
    schedules.push_back(Displaced(entry, like, folded.operands[place], *displacement, rank));
  }
  return schedules;
}

}  // namespace partita
