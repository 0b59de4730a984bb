// Formats the help of a program and its commands.
#ifndef PARTITA_TOOLS_PROGRAM_PROGRAM_HELP_H_
#define PARTITA_TOOLS_PROGRAM_PROGRAM_HELP_H_

#include <string>
#include <vector>

#include "tools/program/flags.h"
#include "tools/program/program.h"

namespace partita {

// Its commands. Lines of at most 80 columns, here and below.
std::string Usage(const ProgramDefinition& program);

// A command and its flags; `full`: all about them.
std::string CommandUsage(const ProgramDefinition& program, const Command& command,
                         const std::vector<FlagDefinition>& flags, bool full);

// "trainer 1.2.3, revision 0123456789ab"
std::string VersionLine(const ProgramDefinition& program);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_PROGRAM_HELP_H_
