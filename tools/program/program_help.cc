#include "tools/program/program_help.h"

#include <fmt/format.h>

#include "run/host/revision.h"
#include "run/host/version.h"
#include "tools/program/flag_help.h"

namespace partita {

std::string Usage(const ProgramDefinition& program) {
  constexpr size_t kColumn = 15;
  const std::string& name = program.name;
  std::string text = fmt::format("{0}: {1}\nusage: {0} COMMAND [flags]\n\n", name, program.summary);
  for (const Command& command : program.commands) text += HelpEntry(command.name, kColumn, command.summary);
  text += HelpEntry("help", kColumn, "this text; help COMMAND: a command's flags");
  return text +
         fmt::format("\n{0} COMMAND --help: its flags; --help-all: also ranges and variables; {0} --version\n", name);
}

std::string CommandUsage(const ProgramDefinition& program, const Command& command,
                         const std::vector<FlagDefinition>& flags, bool full) {
  const std::string argument = command.passes_on ? "-- COMMAND [flags] ..." : command.argument;
  std::string text = HelpParagraph(fmt::format("{} {}: {}", program.name, command.name, command.summary));
  text += fmt::format("usage: {} {} [flags]{}{}\n", program.name, command.name, argument.empty() ? "" : " ", argument);
  text += "--name=value or --name value; a switch, which has no value, is off unless given\n";
  return text + FlagHelp(flags, full, program.name);
}

std::string VersionLine(const ProgramDefinition& program) {
  return fmt::format("{} {}, revision {}\n", program.name, kToolVersion, kRevision);
}

}  // namespace partita
