// The trainer's commands, one function each.
#ifndef PARTITA_TOOLS_COMMANDS_COMMANDS_H_
#define PARTITA_TOOLS_COMMANDS_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run.pb.h"
#include "tools/program/program.h"

namespace partita {

#define COMMAND(name) Command name();
#include "tools/commands/commands.inc"
#undef COMMAND

// All of them, in the order of the help.
std::vector<Command> TrainerCommands();

// CheckSpec and CheckOutputs, for ProgramDefinition::check.
absl::Status CheckRun(const RunSpec& spec, const std::string& command);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_COMMANDS_H_
