// The command of a job for as many ranks as are left of it (launch --elastic).
#ifndef PARTITA_TOOLS_COMMANDS_LAUNCH_FEWER_RANKS_H_
#define PARTITA_TOOLS_COMMANDS_LAUNCH_FEWER_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run.pb.h"

namespace partita {

// FlagError: the command's strategy is a file, which is for one number of ranks.
absl::Status CheckElastic(const RunSpec& command);

// The line of the command `name` with these flags, but for `ranks`: a search is made anew for them; else replicas stay
// as large as they were (--mp) if the ranks divide into such, and become as much smaller as is needed if not.
std::vector<std::string> CommandFor(int64_t ranks, const std::string& name, const RunSpec& command);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_LAUNCH_FEWER_RANKS_H_
