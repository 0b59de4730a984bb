// What a run says besides its results: lines for its user. They go where the process has them sent; until then,
// nowhere.
#ifndef PARTITA_RUN_HOST_LOG_H_
#define PARTITA_RUN_HOST_LOG_H_

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace partita {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning };

using LogSink = std::function<void(LogLevel level, const std::string& line)>;

// For all runs of this process; null: nowhere. Any thread may call it and Log. The sink is called by one thread at a
// time and must not log.
void SetLogSink(LogSink sink);

void Log(LogLevel level, const std::string& line);

template <typename... Args>
void Warn(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void Tell(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace partita

#endif  // PARTITA_RUN_HOST_LOG_H_
