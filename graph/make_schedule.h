// Makes the schedule of one rank from a program (docs/design.md 1.6): pure, no device, n log n in the nodes.
#ifndef PARTITA_GRAPH_MAKE_SCHEDULE_H_
#define PARTITA_GRAPH_MAKE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/alike/displaced.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/program.h"
#include "graph/schedule/machine_speed.h"
#include "graph/schedule/overlap_halo.h"
#include "graph/schedule/schedule.h"

namespace partita {

struct ScheduleOptions {
  int compute_streams = 1;  // the most streams; graph/plan/streams.h
  // The speed for distributing launches over streams and for kAuto of overlap_halo; unset: launches take equal times,
  // and kAuto is kOff.
  std::optional<MachineSpeed> speed = {};
  int64_t memory_limit = 0;  // bytes of the arena; 0: none
  // A rank's part of its device's memory; 0: not known. With several compute streams, freed memory is not reused at
  // once (MemoryOptions::linger), unless the arena would exceed this or the limit.
  int64_t device_bytes = 0;
  // Updates states in one launch, which reads bf16 gradients and also writes the bf16 copies of states:
  // FoldUpdateCasts, DropOnes, JoinScalars, GroupUpdates, KeptRounded.
  bool group_updates = false;
  // For observers: keep every value that only an update reads, and place none in columns (ViewColumns).
  bool keep_values = false;
  OverlapHalo overlap_halo = OverlapHalo::kAuto;
  // Exchanges copy boxes straight from rank to rank (World::moves_blocks), without packing and unpacking.
  bool exchange_boxes = false;
  // For tests of the memory plan: guard bytes after every tensor that no launch may touch, and whether tensors may
  // reuse bytes of earlier ones.
  int64_t guard_bytes = 0;
  bool reuse_memory = true;
};

// The schedule of `rank` for `entry`: the graph of an entry point of the program. The schedules of all entry points of
// a rank have their states at the same offsets, so they can run in one arena of the larger total. Errors:
// kInvalidArgument (compute_streams < 1), kResourceExhausted (memory_limit), kInternal (a program that contradicts
// itself), and the catalogue's error for a node that every kernel refuses.
absl::StatusOr<Schedule> MakeSchedule(const Program& program, const Graph& entry, int rank,
                                      const KernelCatalogue& kernels, const ScheduleOptions& options = {});

// The same for all ranks of the mesh, in order. Only one of several alike ranks (graph/alike) is lowered and planned.
// Errors also name the rank.
absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels,
                                                    const ScheduleOptions& options = {});

// One schedule for each set of alike ranks. Its size does not grow with the number of alike ranks.
struct FoldedSchedules {
  std::vector<Schedule> schedules;      // each for the first rank of its set
  std::vector<OperandValues> operands;  // by schedule
  std::vector<int> of_rank;             // by rank: the index in `schedules`

  // By rank; valid for the lifetime of this object.
  std::vector<const Schedule*> ByRank() const;
};

// The same without expanding them to all ranks, for callers that need only the launches, such as a simulator of
// thousands of ranks.
absl::StatusOr<FoldedSchedules> MakeFoldedSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels,
                                                    const ScheduleOptions& options = {});

// Expands `folded`, which was made of `entry`, for these ranks, in their order: the blocks and groups of each.
std::vector<Schedule> SchedulesOfRanks(const Program& program, const Graph& entry, const FoldedSchedules& folded,
                                       std::span<const int> ranks);

}  // namespace partita

#endif  // PARTITA_GRAPH_MAKE_SCHEDULE_H_
