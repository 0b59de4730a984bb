// Variables that look like flags of a program and are none.
#ifndef PARTITA_TOOLS_PROGRAM_UNKNOWN_VARIABLES_H_
#define PARTITA_TOOLS_PROGRAM_UNKNOWN_VARIABLES_H_

#include <string>
#include <vector>

#include "tools/program/flags.h"

namespace partita {

// A sentence for each variable TRAINER_<something> (of program "trainer") that is set and is no flag in `all`, with the
// one that was meant. They change nothing, so they are no errors: another version may know them.
std::vector<std::string> UnknownVariables(const std::vector<FlagDefinition>& all, const FlagEnvironment& environment);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_UNKNOWN_VARIABLES_H_
