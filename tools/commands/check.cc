// `trainer check`: everything about graph and strategy that can be known without running, and nothing is written.
#include <fmt/ranges.h>

#include "tools/commands/commands.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/run_options.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> Check(const CommandContext& context) {
  ASSIGN_OR_RETURN(Model model, ReadModel(context.flags));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(context.flags, /*processes=*/false));
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(context.flags, model.graph, machine));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(context.flags, machine, strategy.mesh.size()));
  ProgramOptions options;
  options.speed = speed;
  options.verify_passes = context.flags.Bool("verify-passes");
  ASSIGN_OR_RETURN(const Program program, MakeProgramOf(context.flags, model, strategy, options));
  context.out << fmt::format("graph     ok: {} nodes, {} states\n", model.graph.nodes().size(),
                             model.graph.states().size());
  context.out << fmt::format("strategy  ok: mesh {}, {} entries\n", ToString(MeshesOf(strategy)), strategy.ops.size());
  context.out << fmt::format("program   ok: {} nodes to train, {} to evaluate, {} groups\n",
                             program.graph(kTrainEntry).nodes().size(), program.graph(kEvaluateEntry).nodes().size(),
                             program.groups.size());
  if (!model.entries.empty()) {
    std::vector<std::string> names;
    for (const EntryPoint& entry : program.entries) names.push_back(entry.name);
    context.out << fmt::format("entries   ok: {}\n", fmt::join(names, ", "));
  }
  return kExitFinished;
}

}  // namespace

Command CheckCommand() {
  Command command{"check", "check a graph and a strategy without running them", "GRAPH", ModelFlags(), Check};
  for (const std::string& flag : StrategyFlags()) command.flags.push_back(flag);
  command.flags.push_back("verify-passes");
  return command;
}

}  // namespace partita
