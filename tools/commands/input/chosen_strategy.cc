#include "tools/commands/input/chosen_strategy.h"

#include <memory>
#include <set>
#include <utility>

#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "runtime/api/backend/backend.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/solver/cbc.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::Status SearchNeedsMachine() { return FlagError("flag --search needs --cluster: for which machines to plan"); }

bool Solves(const Flags& flags) { return flags.Has("solver") && flags.Text("solver") != "own"; }

// What a search finds cannot be said beside it.
absl::Status CheckFlags(const Flags& flags) {
  if (!Searches(flags)) {
    if (!flags.IsSet("save-strategy")) return absl::OkStatus();
    return FlagError("flag --save-strategy writes what --search finds{}",
                     flags.Has("repair") ? " or --repair makes; give one of them" : "; give --search=auto");
  }
  for (const char* other : {"strategy", "dp", "mp", "convolutions", "dense", "input-gradients", "micro-batches"}) {
    if (flags.Given(other)) return FlagError("flags --search and --{} are given; one of them is allowed", other);
  }
  return absl::OkStatus();
}

std::set<SearchKind> SearchesOf(const Flags& flags) {
  if (const std::optional<SearchKind> one = FindSearch(flags.Text("search"))) return {*one};
  return {std::begin(kSearches), std::end(kSearches)};
}

// A parameter, its gradient and its slots.
absl::StatusOr<double> CopiesOfWeights(const Model& model) {
  const Optimizers& optimizers = Ops().optimizers();
  ASSIGN_OR_RETURN(const Optimizer optimizer, CompleteOptimizer(model.optimizer, optimizers));
  const OptimizerDefinition* const definition = FindOptimizer(optimizer.name, optimizers);
  return 2.0 + static_cast<double>(definition->rule(optimizer.attributes).slots.size());
}

absl::StatusOr<ProgramSolver> SolverOf(const Flags& flags) {
  if (!Solves(flags)) return ProgramSolver();
  absl::StatusOr<ProgramSolver> solver = CbcSolver(flags.Int("solver-seconds"));
  if (!solver.ok()) return AsNoDevice(WithContext("flag --solver", solver.status()));
  return solver;
}

absl::StatusOr<std::vector<Finalist>> Search(const Flags& flags, Model model, bool exact,
                                             const std::optional<Machine>& machine) {
  AssumeScheduleLength(model);
  if (!machine) return SearchNeedsMachine();
  const int64_t ranks = RanksOn(*machine, flags);
  ASSIGN_OR_RETURN(const std::optional<MachineSpeed> speed, SpeedFor(machine, static_cast<int>(ranks)));
  ASSIGN_OR_RETURN(const double copies, CopiesOfWeights(model));
  const SessionOptions options = exact ? ReadExactSessionOptions(flags, speed) : ReadPlanOptions(flags, speed);
  const auto backend = Backend::OpenToPlan(static_cast<int>(ranks), Spread::kThreads, options);
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  const KernelTimes times = KernelTimesOf(*machine, static_cast<int>(ranks));
  ASSIGN_OR_RETURN(const ProgramSolver solver, SolverOf(flags));
  const ChooseRequest request{.model = model,
                              .ranks = static_cast<int>(ranks),
                              .searches = SearchesOf(flags),
                              .basis = {Ops(), machine->cluster, times, copies},
                              .memory_bytes = flags.Int("memory"),
                              .solver = solver,
                              .program = ReadProgramOptions(flags, speed),
                              .kernels = (*backend)->kernels(),
                              .schedule = (*backend)->schedule_options()};
  absl::StatusOr<std::vector<Finalist>> finalists = ChooseStrategy(request);
  if (!finalists.ok()) return AsNoDevice(WithContext(flags.arguments()[0], finalists.status()));
  return finalists;
}

}  // namespace

std::vector<std::string> SearchFlags() { return {"search", "save-strategy"}; }

bool Searches(const Flags& flags) { return flags.Has("search") && flags.Text("search") != "none"; }

absl::StatusOr<int64_t> RanksOfSearch(const Flags& flags) {
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, /*processes=*/false));
  if (!machine) return SearchNeedsMachine();
  return RanksOn(*machine, flags);
}

int64_t RanksOn(const Machine& machine, const Flags& flags) {
  return flags.Given("ranks") ? flags.Int("ranks") : static_cast<int64_t>(machine.cluster.devices.size());
}

absl::StatusOr<ChosenStrategy> ChosenStrategyOf(const Flags& flags, const Model& model, bool exact,
                                                const std::optional<Machine>& machine) {
  RETURN_IF_ERROR(CheckFlags(flags));
  ChosenStrategy chosen;
  if (!Searches(flags)) {
    ASSIGN_OR_RETURN(chosen.strategy, ReadStrategy(flags, model.graph, machine));
    return chosen;
  }
  ASSIGN_OR_RETURN(chosen.finalists, Search(flags, model, exact, machine));
  chosen.strategy = chosen.finalists[0].candidate.strategy;
  SetOptions(flags, chosen.strategy);
  return chosen;
}

}  // namespace partita
