// Files that a command will write at its end, looked at before its beginning.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run.pb.h"

namespace partita {

// Checks that the files that the run writes can be written, without leaving anything behind: so that hours of training
// do not end in a wrong path; and that they are no file that is read (the graph, the strategy, a config file), nor each
// other. Only --report may be the config file, which then is a report that the run repeats. FlagError names the flag.
absl::Status CheckOutputs(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_OUTPUTS_H_
