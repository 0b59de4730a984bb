#include "run/plan/planned_process.h"

#include "runtime/train/batch_feed.h"

namespace partita {
namespace {

// Measured, of the trainer on x86-64 (docs/measured.md): what it has before it reads a graph, mostly code that is
// touched; and how that grows with what is compiled and bound. The two latter are half as much of small graphs.
constexpr int64_t kBytesOfProgram = int64_t{44} << 20;
constexpr int64_t kBytesOfNode = int64_t{4} << 10, kBytesOfLaunch = int64_t{6} << 10;

}  // namespace

PlannedProcess PlanProcess(const Program& program, std::span<const int> ranks, int64_t launches, int64_t arenas) {
  const auto nodes = static_cast<int64_t>(program.graph(kTrainEntry).nodes().size());
  PlannedProcess process;
  process.arenas = arenas;
  process.batches =
      PrefetchedBytes(*program.Find(kTrainEntry), ranks) + PrefetchedBytes(*program.Find(kEvaluateEntry), ranks);
  process.program = kBytesOfProgram + nodes * kBytesOfNode + launches * kBytesOfLaunch;
  return process;
}

}  // namespace partita
