#include "run/plan/chosen_strategy.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "graph/optimizer/optimizer.h"
#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/choose/ranked_finalists.h"
#include "partitioner/data_model_strategy.h"
#include "run/plan/inputs.h"
#include "run/plan/objective.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "run/solver/cbc.h"
#include "run/spec/spec_error.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

bool Solves(const RunSpec& spec) { return spec.split().solver() != "own"; }

std::set<SearchKind> SearchesOf(const RunSpec& spec) {
  if (const std::optional<SearchKind> one = FindSearch(spec.split().search())) return {*one};
  return {std::begin(kSearches), std::end(kSearches)};
}

// A parameter, its gradient and its slots.
absl::StatusOr<double> CopiesOfWeights(const Model& model) {
  const Optimizers& optimizers = Ops().optimizers();
  ASSIGN_OR_RETURN(const Optimizer optimizer, CompleteOptimizer(model.optimizer, optimizers));
  const OptimizerDefinition* const definition = FindOptimizer(optimizer.name, optimizers);
  const UpdateRule rule = definition->rule(optimizer.attributes);
  return 2.0 + static_cast<double>(rule.slots.size() + (rule.direction ? rule.direction->slots.size() : 0));
}

absl::StatusOr<ProgramSolver> SolverOf(const RunSpec& spec) {
  if (!Solves(spec)) return ProgramSolver();
  absl::StatusOr<ProgramSolver> solver = CbcSolver(spec.split().solver_seconds());
  if (!solver.ok()) return AsNoDevice(WithContext("flag --solver", solver.status()));
  return solver;
}

absl::StatusOr<std::vector<Finalist>> SearchWith(const RunSpec& spec, const std::set<SearchKind>& searches,
                                                 const Model& model, bool exact, const Machine& machine,
                                                 const Setting& setting) {
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec, machine, setting.ranks));
  ASSIGN_OR_RETURN(const double copies, CopiesOfWeights(model));
  const SessionOptions options = exact ? ReadExactSessionOptions(spec, speed) : ReadPlanOptions(spec, speed);
  const auto backend = Backend::OpenToPlan(setting.ranks, SpreadOf(machine), options);
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  const KernelTimes times = KernelTimesOf(machine, setting.ranks);
  ASSIGN_OR_RETURN(const ProgramSolver solver, SolverOf(spec));
  ProgramOptions program = ReadProgramOptions(spec, speed);
  program.given = AssumedForms(model.graph);
  program.count_votes = machine.processes;
  const ChooseRequest request{.model = model,
                              .ranks = setting.ranks,
                              .batch = setting.batch,
                              .searches = searches,
                              .basis = {Ops(), machine.cluster, times, copies},
                              .memory_bytes = spec.execution().memory(),
                              .solver = solver,
                              .amend = [&spec](Strategy& strategy) { SetOptions(spec, strategy); },
                              .program = program,
                              .kernels = (*backend)->kernels(),
                              .schedule = (*backend)->schedule_options()};
  absl::StatusOr<std::vector<Finalist>> finalists = FindFinalists(request);
  if (!finalists.ok()) return AsNoDevice(WithContext(spec.model().graph(), finalists.status()));
  return finalists;
}

absl::StatusOr<std::vector<Finalist>> FinalistsOf(const RunSpec& spec, const Model& model, int64_t batch, bool exact,
                                                  const Machine& machine, const Setting& setting) {
  if (setting.batch == batch) return SearchWith(spec, SearchesOf(spec), model, exact, machine, setting);
  ASSIGN_OR_RETURN(const Model sized, WithBatch(model, setting.batch, Ops()));
  return SearchWith(spec, SearchesOf(spec), sized, exact, machine, setting);
}

// Where --ranks does not say how many, threads may be fewer than the machine allows: the plans of --dp and --mp on 1,
// 2, 4, ... ranks. The number of processes of a job is fixed before its plan is.
std::vector<Finalist> OfFewerRanks(const RunSpec& spec, const Model& model, bool exact, const Machine& machine,
                                   const Setting& most) {
  std::vector<Finalist> finalists;
  if (spec.split().has_ranks() || machine.processes) return finalists;
  for (int ranks = 1; ranks < most.ranks; ranks *= 2) {
    absl::StatusOr<std::vector<Finalist>> found = SearchWith(spec, {}, model, exact, machine, {ranks, most.batch});
    if (found.ok()) std::ranges::move(*found, std::back_inserter(finalists));
  }
  return finalists;
}

// Searches what the objective can prefer, and compares all that is found. A setting of several that the graph cannot
// have, or in which there is nothing to choose, is left out.
absl::StatusOr<ChosenStrategy> Search(const RunSpec& spec, Model model, bool exact, const Machine& machine,
                                      const Objective& objective) {
  AssumeScheduleLength(model);
  const std::string& path = spec.model().graph();
  const absl::StatusOr<int64_t> batch = BatchFor(objective, model.graph);
  if (!batch.ok()) return WithContext(path, batch.status());
  const auto ranks = static_cast<int>(RanksOn(machine, spec));
  ASSIGN_OR_RETURN(SearchSettings settings, ReadSettings(spec, objective, ranks, *batch));
  std::vector<Finalist> finalists;
  absl::Status none;
  for (const Setting& setting : settings.searched) {
    absl::StatusOr<std::vector<Finalist>> found = FinalistsOf(spec, model, *batch, exact, machine, setting);
    if (found.ok()) {
      std::ranges::move(*found, std::back_inserter(finalists));
    } else if (absl::IsInvalidArgument(found.status())) {
      none = found.status();
      settings.left_out.push_back(WhyLeftOut(setting, none));
    } else {
      return found.status();
    }
  }
  if (finalists.empty()) return none;
  if (objective.kind == ObjectiveKind::kStep)
    std::ranges::move(OfFewerRanks(spec, model, exact, machine, {ranks, *batch}), std::back_inserter(finalists));
  absl::StatusOr<std::vector<Finalist>> ranked = Ranked(std::move(finalists), objective);
  if (!ranked.ok()) return AsNoDevice(WithContext(path, ranked.status()));
  PreferFewerRanks(*ranked);
  ChosenStrategy chosen;
  chosen.finalists = *std::move(ranked);
  const Finalist& best = chosen.finalists[0];
  chosen.strategy = best.candidate.strategy;
  if (best.setting.batch != *batch) chosen.batch = best.setting.batch;
  chosen.left_out = std::move(settings.left_out);
  return chosen;
}

}  // namespace

bool Searches(const RunSpec& spec) { return spec.split().search() != "none"; }

absl::StatusOr<int64_t> RanksOfSearch(const RunSpec& spec) {
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(spec.machine(), /*processes=*/false));
  CHECK(machine.has_value());  // CheckSpec
  return RanksOn(*machine, spec);
}

int64_t RanksOn(const Machine& machine, const RunSpec& spec) {
  return spec.split().has_ranks() ? spec.split().ranks() : RanksByDefault(machine.cluster);
}

absl::StatusOr<ChosenStrategy> ChosenStrategyOf(const RunSpec& spec, const Model& model, bool exact,
                                                const std::optional<Machine>& machine, const Objective& objective) {
  ChosenStrategy chosen;
  if (!Searches(spec)) {
    ASSIGN_OR_RETURN(chosen.strategy, ReadStrategy(spec, model.graph, machine));
    return chosen;
  }
  CHECK(machine.has_value());  // CheckSpec
  absl::StatusOr<ChosenStrategy> found = Search(spec, model, exact, *machine, objective);
  if (!spec.split().repair() || !absl::IsResourceExhausted(found.status())) return found;
  ASSIGN_OR_RETURN(chosen.strategy, DataModelStrategy(model.graph, static_cast<int>(RanksOn(*machine, spec)), 1));
  SetOptions(spec, chosen.strategy);
  return chosen;
}

}  // namespace partita
