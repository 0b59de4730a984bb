#include "runtime/telemetry/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/telemetry/progress_bar.h"

namespace partita {
namespace {

struct Level {
  const char* name;
  spdlog::level::level_enum value;
};

constexpr Level kLevels[] = {{"trace", spdlog::level::trace}, {"debug", spdlog::level::debug},
                             {"info", spdlog::level::info},   {"warn", spdlog::level::warn},
                             {"error", spdlog::level::err},   {"off", spdlog::level::off}};

void Install(spdlog::level::level_enum level) {
  const char* const plain = std::getenv("NO_COLOR");  // https://no-color.org
  const auto colour = plain != nullptr && *plain != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  // Not registered under a name, so it can be made anew.
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour));
  logger->set_level(level);
  // On a terminal a line takes the place of the progress bar (progress_bar.h).
  logger->set_pattern(std::string(ProgressBar::HasTerminal() ? kClearLine : "") + "%H:%M:%S.%e %^%l%$ %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

absl::Status SetUpLog(const std::string& level) {
  for (const Level& known : kLevels) {
    if (level != known.name) continue;
    try {
      Install(known.value);
    } catch (const spdlog::spdlog_ex& error) {
      return Internal("cannot set up the log: {}", error.what());
    }
    return absl::OkStatus();
  }
  return InvalidArgument("log level: found '{}', allowed are trace, debug, info, warn, error, off", level);
}

}  // namespace partita
