// From a model and a cluster to a strategy: searches on tables give candidates; these alone are compiled, simulated
// and compared.
#ifndef PARTITA_PARTITIONER_CHOOSE_CHOOSE_STRATEGY_H_
#define PARTITA_PARTITIONER_CHOOSE_CHOOSE_STRATEGY_H_

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/search/placement/program_solver.h"
#include "partitioner/tables/layer_cost.h"

namespace partita {

// MiB of the gradient buckets that every search tries, beside the size that the compiler chooses.
inline constexpr int64_t kBucketMebibytes[] = {1, 4, 16, 64};
// By how much of its step another size must shorten a plan to be taken.
inline constexpr double kLeastBucketGain = 0.01;

struct ChooseRequest {
  const Model& model;
  int ranks = 1;
  int64_t batch = 0;              // of the model, for callers that compare plans of several batches
  std::set<SearchKind> searches;  // none: only what --dp and --mp say
  CostBasis basis;
  int64_t memory_bytes = 0;        // that a rank may use, beside what its device has; 0: no more than that
  ProgramSolver solver = nullptr;  // of what the search of placements cannot prove; nullptr: there is none
  std::function<void(Strategy& strategy)> amend = nullptr;  // what is said of all plans, before they are compiled
  // How finalists are compiled.
  ProgramOptions program;
  const KernelCatalogue& kernels;
  ScheduleOptions schedule;
};

// What was compiled, in the order of the searches: of each its own plans, those of the searches within it
// (SearchesWithin), and what --dp and --mp say, unless kData is asked alone or a solver for placements alone; then the
// plans that other sizes of gradient buckets make faster. What does not fit or compile says so. kInvalidArgument: there
// is nothing to choose. Deterministic.
absl::StatusOr<std::vector<Finalist>> FindFinalists(const ChooseRequest& request);

// The same, the fastest first (Ranked), but for PreferFewerRanks.
absl::StatusOr<std::vector<Finalist>> ChooseStrategy(const ChooseRequest& request);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_CHOOSE_STRATEGY_H_
