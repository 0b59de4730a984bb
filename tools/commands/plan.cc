// `trainer plan`: what would run: groups, layouts, kernels, bytes, memory and work, without running anything.
#include <optional>

#include "graph/proto_io/proto_io_message.h"
#include "partitioner/choose/choose_strategy.h"
#include "runtime/api/backend/backend.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/chosen_strategy.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/plan_proto.h"
#include "tools/commands/output/strategy_file.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> RunPlan(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(CheckOutputs(flags, {"save-strategy"}));
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckAcceleration(flags));
  if (flags.IsSet("trace") && !flags.IsSet("cluster") && !flags.IsSet("profile")) {
    return FlagError("flag --trace: a predicted timeline needs --cluster or --profile: the machines that it is for");
  }
  RETURN_IF_ERROR(CheckOutputs(flags, {"trace"}));
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, flags.Bool("processes")));
  ASSIGN_OR_RETURN(Model model, ReadModel(flags));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const ChosenStrategy chosen, ChosenStrategyOf(flags, model, /*exact=*/false, machine));
  ASSIGN_OR_RETURN(const std::optional<MachineSpeed> speed, SpeedFor(machine, chosen.strategy.mesh.size()));
  const Spread spread = flags.Bool("processes") ? Spread::kProcesses : Spread::kThreads;
  ProgramOptions program_options = ReadProgramOptions(flags, speed);
  program_options.count_votes = spread == Spread::kProcesses;
  ASSIGN_OR_RETURN(const Program program, MakeProgramOf(flags, model, chosen.strategy, program_options));
  const absl::StatusOr<std::unique_ptr<Backend>> backend =
      Backend::OpenToPlan(program.ranks(), spread, ReadPlanOptions(flags, speed));
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  ASSIGN_OR_RETURN(const PlanProto plan,
                   MakePlan(model.name, program, **backend, machine ? &machine->cluster : nullptr,
                            machine ? KernelTimesOf(*machine, program.ranks()) : KernelTimes(), flags.Text("trace")));
  const std::string& format = flags.Text("format");
  if (flags.IsSet("save-strategy"))
    RETURN_IF_ERROR(SaveFoundStrategy(chosen.strategy, chosen.finalists, flags.Text("save-strategy")));
  if (format == "text" && Searches(flags)) context.out << FormatFinalists(chosen.finalists) << "\n";
  if (format == "json") {
    context.out << PrintMessage(plan, ProtoFormat::kJson);
  } else if (format == "dot") {
    context.out << (flags.Bool("full") ? DrawWholePlan(plan) : DrawPlan(plan));
  } else {
    context.out << (flags.Bool("full") ? FormatWholePlan(plan) : FormatPlan(plan));
  }
  return kExitFinished;
}

}  // namespace

Command PlanCommand() {
  Command command{"plan", "what would run: layouts, bytes, memory, work", "GRAPH", ModelFlags(), RunPlan};
  for (const auto& flags : {StrategyFlags(), SearchFlags(), RunFlags(), AccelerationFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag : {"processes", "trace", "format", "full"}) command.flags.push_back(flag);
  return command;
}

}  // namespace partita
