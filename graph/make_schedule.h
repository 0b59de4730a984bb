// From a program to what one rank launches (docs/design.md 1.6): pure, no device, n log n in the nodes.
#ifndef PARTITA_GRAPH_MAKE_SCHEDULE_H_
#define PARTITA_GRAPH_MAKE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/program.h"
#include "graph/schedule/machine_speed.h"
#include "graph/schedule/overlap_halo.h"
#include "graph/schedule/schedule.h"

namespace partita {

struct ScheduleOptions {
  int compute_streams = 1;  // at most; graph/plan/streams.h
  // By which launches are spread over them, and kAuto of overlap_halo chooses; unset: launches take equally long, and
  // kAuto is kOff.
  std::optional<MachineSpeed> speed = {};
  int64_t memory_limit = 0;  // bytes of the arena; 0: none
  // A rank's part of its device's memory; 0: not known. With several compute streams memory is not given away at once
  // (MemoryOptions::linger), unless the arena would be larger than this, or than the limit.
  int64_t device_bytes = 0;
  // Updates of states as one launch, which reads bf16 gradients and keeps the states that are read in bf16 so, too:
  // FoldUpdateCasts, DropOnes, JoinScalars, GroupUpdates, KeptRounded.
  bool group_updates = false;
  // For observers: keep every value that only an update reads, and place none in columns (ViewColumns).
  bool keep_values = false;
  OverlapHalo overlap_halo = OverlapHalo::kAuto;
  // Exchanges copy boxes straight from rank to rank (World::moves_blocks), without packing and unpacking.
  bool exchange_boxes = false;
  // For tests of the memory plan: bytes that no launch may touch after every tensor, and whether tensors may follow
  // each other in the same bytes.
  int64_t guard_bytes = 0;
  bool reuse_memory = true;
};

// The schedule of `rank` for `entry`: the graph of an entry point of the program. The schedules of all entry points of
// a rank have their states at the same offsets, so they can run in one arena of the larger total. Errors:
// kInvalidArgument (compute_streams < 1), kResourceExhausted (memory_limit), kInternal (a program that contradicts
// itself), and what the catalogue returns for a node that no kernel takes.
absl::StatusOr<Schedule> MakeSchedule(const Program& program, const Graph& entry, int rank,
                                      const KernelCatalogue& kernels, const ScheduleOptions& options = {});

// The same for all ranks of the mesh, in their order. Of ranks that are alike (graph/alike) one is lowered and
// planned. An error names the rank too.
absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels,
                                                    const ScheduleOptions& options = {});

// Of ranks that are alike one schedule.
struct FoldedSchedules {
  std::vector<Schedule> schedules;  // each of the first of those that are alike
  std::vector<int> of_rank;         // by rank: its place among them

  // By rank, while this lives.
  std::vector<const Schedule*> ByRank() const;
};

// The same without what makes them the schedules of all ranks: who needs none but their launches, as a simulator does,
// has room for thousands of ranks.
absl::StatusOr<FoldedSchedules> MakeFoldedSchedules(const Program& program, const Graph& entry,
                                                    const KernelCatalogue& kernels,
                                                    const ScheduleOptions& options = {});

}  // namespace partita

#endif  // PARTITA_GRAPH_MAKE_SCHEDULE_H_
