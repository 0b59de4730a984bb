// The strategy of commands that take --search: a search's for the ranks of a cluster, else what ReadStrategy reads.
#ifndef PARTITA_RUN_PLAN_CHOSEN_STRATEGY_H_
#define PARTITA_RUN_PLAN_CHOSEN_STRATEGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "partitioner/choose/candidate.h"
#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

bool Searches(const RunSpec& spec);

// How many ranks are planned for: --ranks, else RanksByDefault of the machine.
int64_t RanksOn(const Machine& machine, const RunSpec& spec);
// As above, for the machine that the description names.
absl::StatusOr<int64_t> RanksOfSearch(const RunSpec& spec);

struct ChosenStrategy {
  Strategy strategy;
  std::vector<Finalist> finalists;    // the chosen one first; empty: nothing was searched
  int64_t batch = 0;                  // that it is for, if a search was to find that too; 0: as the model has it
  std::vector<std::string> left_out;  // what was not searched, and why
};

// `exact`: the command is deterministic and computes f32 in f32. `objective`: by which a search compares. Where nothing
// that a search finds fits and the plan is to be repaired, replicas.
// kResourceExhausted: nothing fits. kUnavailable, with exit code 7: the solver is not here, or fails.
absl::StatusOr<ChosenStrategy> ChosenStrategyOf(const RunSpec& spec, const Model& model, bool exact,
                                                const std::optional<Machine>& machine, const Objective& objective = {});

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_CHOSEN_STRATEGY_H_
