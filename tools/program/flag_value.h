// Checks and describes the value of one flag.
#ifndef PARTITA_TOOLS_PROGRAM_FLAG_VALUE_H_
#define PARTITA_TOOLS_PROGRAM_FLAG_VALUE_H_

#include <string>

#include "absl/status/status.h"
#include "tools/program/flags.h"

namespace partita {

// OK, or what was found and what is allowed; the caller puts the flag before it.
absl::Status CheckFlagValue(const FlagDefinition& flag, const std::string& value);

// "N", "FILE", "text|json": what stands for the value in help.
std::string FlagPlaceholder(const FlagDefinition& flag);

// "an integer from 1 to 64": what is allowed.
std::string FlagRange(const FlagDefinition& flag);

// TRAINER_LEARNING_RATE
std::string FlagVariable(const std::string& program, const std::string& flag);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_FLAG_VALUE_H_
