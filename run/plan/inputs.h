// The model and the strategy that a command's flags and argument speak of.
#ifndef PARTITA_RUN_PLAN_INPUTS_H_
#define PARTITA_RUN_PLAN_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

// The graph that the command's argument names, with --batch and what flags say of its training over it.
absl::StatusOr<Model> ReadModel(const RunSpec& spec);
// Applies --batch and what flags say of training to a model that the caller has.
absl::StatusOr<Model> Sized(const RunSpec& spec, Model model);

// For commands that train nothing: a learning-rate schedule whose length only a training run gives gets some length.
void AssumeScheduleLength(Model& model);

// --strategy, else --dp and --mp; checked against the graph and --ranks. With --ranks alone (or with --mp), the rest of
// the ranks are replicas. What is to be chosen is chosen for the machine.
absl::StatusOr<Strategy> ReadStrategy(const RunSpec& spec, const Graph& forward, const std::optional<Machine>& machine);

// What flags say over any strategy: micro-batches, exchanges, recompute.
void SetOptions(const RunSpec& spec, Strategy& strategy);

// How many ranks that strategy has, without the graph. Of flags that have no strategy: one.
absl::StatusOr<int64_t> RanksOf(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_INPUTS_H_
