#include "tools/commands/memory/planned_process.h"

#include "runtime/train/batch_feed.h"

namespace partita {
namespace {

// Measured, of the trainer on x86-64 (docs/measured.md): what it has before it reads a graph, mostly code that is
// touched; and how that grows with what is compiled and bound. The two latter are half as much of small graphs.
constexpr int64_t kBytesOfProgram = int64_t{44} << 20;
constexpr int64_t kBytesOfNode = int64_t{4} << 10, kBytesOfLaunch = int64_t{6} << 10;

}  // namespace

PlannedProcess PlanProcess(const Program& program, const std::vector<Schedule>& train,
                           const std::vector<Schedule>& evaluate, std::span<const int> ranks, int64_t arenas) {
  const auto nodes = static_cast<int64_t>(program.graph(kTrainEntry).nodes().size());
  int64_t launches = 0;
  for (const int rank : ranks) launches += static_cast<int64_t>(train[static_cast<size_t>(rank)].launches.size());
  PlannedProcess process;
  process.arenas = arenas;
  process.batches = PrefetchedBytes(*program.Find(kTrainEntry), train, ranks) +
                    PrefetchedBytes(*program.Find(kEvaluateEntry), evaluate, ranks);
  process.program = kBytesOfProgram + nodes * kBytesOfNode + launches * kBytesOfLaunch;
  return process;
}

}  // namespace partita
