// The log: lines go to standard error, so that standard output has only results.
#ifndef PARTITA_RUNTIME_TELEMETRY_LOG_H_
#define PARTITA_RUNTIME_TELEMETRY_LOG_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

// Makes spdlog's default logger write "hh:mm:ss.mmm level message" to standard error from `level` on: trace, debug,
// info, warn, error, off; the level in colour if that is a terminal and NO_COLOR is not set. Another level is
// kInvalidArgument and changes nothing. Called once by a tool before its threads start.
absl::Status SetUpLog(const std::string& level);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_LOG_H_
