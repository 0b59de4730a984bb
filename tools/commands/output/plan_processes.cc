#include "tools/commands/output/plan_processes.h"

#include <numeric>

#include "runtime/train/batch_feed.h"

namespace partita {
namespace {

// Measured, of the trainer on x86-64 (docs/measured.md): what it has before it reads a graph, mostly code that is
// touched; and how that grows with what is compiled and bound. The two latter are half as much of small graphs.
constexpr int64_t kBytesOfProgram = int64_t{44} << 20;
constexpr int64_t kBytesOfNode = int64_t{4} << 10, kBytesOfLaunch = int64_t{6} << 10;

std::vector<std::vector<int>> RanksOfProcesses(int ranks, Spread spread) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  if (spread == Spread::kThreads) return {all};
  std::vector<std::vector<int>> alone;
  for (const int rank : all) alone.push_back({rank});
  return alone;
}

}  // namespace

void AddProcesses(const Program& program, const Backend& backend, const std::vector<Schedule>& train,
                  const std::vector<Schedule>& evaluate, PlanProto& plan) {
  if (backend.device_name() != "host") return;
  const auto nodes = static_cast<int64_t>(program.graph(kTrainEntry).nodes().size());
  for (const std::vector<int>& ranks : RanksOfProcesses(program.ranks(), backend.spread())) {
    PlanProcessProto* const process = plan.add_processes();
    int64_t arenas = 0, launches = 0;
    for (const int rank : ranks) {
      process->add_ranks(rank);
      arenas += plan.ranks(rank).memory().total_bytes();
      launches += plan.ranks(rank).launches();
    }
    process->set_arena_bytes(arenas);
    process->set_batch_bytes(PrefetchedBytes(*program.Find(kTrainEntry), train, ranks) +
                             PrefetchedBytes(*program.Find(kEvaluateEntry), evaluate, ranks));
    process->set_program_bytes(kBytesOfProgram + nodes * kBytesOfNode + launches * kBytesOfLaunch);
    process->set_total_bytes(process->arena_bytes() + process->batch_bytes() + process->program_bytes());
  }
}

}  // namespace partita
