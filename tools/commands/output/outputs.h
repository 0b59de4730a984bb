// Files that a command will write at its end, looked at before its beginning.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/program/flags.h"

namespace partita {

// Checks that the files of these flags can be written, without leaving anything behind: so that hours of training do
// not end in a wrong path, and are no file that is read (the graph, the strategy, the flags), nor each other. FlagError
// names the flag. A report must be .json.
absl::Status CheckOutputs(const Flags& flags, const std::vector<std::string>& names);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_
