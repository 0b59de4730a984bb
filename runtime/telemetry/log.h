// The log: lines go to standard error, so that standard output has only results.
#ifndef PARTITA_RUNTIME_TELEMETRY_LOG_H_
#define PARTITA_RUNTIME_TELEMETRY_LOG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace partita {

// kText: "hh:mm:ss.mmm level message", in local time; the level in colour if standard error is a terminal and NO_COLOR
// is not set. kJson: an object a line, {"time":"2026-11-22T20:15:04.123Z","level":"warning","message":"..."}, in UTC.
enum class LogFormat : uint8_t { kText, kJson };

// Makes spdlog's default logger write lines of this format to standard error from `level` on: trace, debug, info, warn,
// error, off. Another level is kInvalidArgument and changes nothing. Called once by a tool before its threads start.
absl::Status SetUpLog(const std::string& level, LogFormat format = LogFormat::kText);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_LOG_H_
