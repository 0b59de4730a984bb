#include "run/plan_report/plan_processes.h"

#include <numeric>
#include <vector>

#include "run/plan/planned_process.h"

namespace partita {
namespace {

std::vector<std::vector<int>> RanksOfProcesses(int ranks, Spread spread) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  if (spread == Spread::kThreads) return {all};
  std::vector<std::vector<int>> alone;
  for (const int rank : all) alone.push_back({rank});
  return alone;
}

}  // namespace

void AddProcesses(const Program& program, const Backend& backend, std::span<const Schedule* const> train,
                  PlanProto& plan) {
  if (backend.device_name() != "host") return;
  for (const std::vector<int>& ranks : RanksOfProcesses(program.ranks(), backend.spread())) {
    PlanProcessProto* const process = plan.add_processes();
    int64_t arenas = 0, launches = 0;
    for (const int rank : ranks) {
      process->add_ranks(rank);
      arenas += plan.ranks(rank).memory().total_bytes();
      launches += static_cast<int64_t>(train[static_cast<size_t>(rank)]->launches.size());
    }
    const PlannedProcess planned = PlanProcess(program, ranks, launches, arenas);
    process->set_arena_bytes(planned.arenas);
    process->set_batch_bytes(planned.batches);
    process->set_program_bytes(planned.program);
    process->set_total_bytes(planned.total());
  }
}

}  // namespace partita
