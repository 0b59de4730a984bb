#include "runtime/telemetry/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

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

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto time = std::chrono::floor<std::chrono::milliseconds>(message.time);
    nlohmann::ordered_json line;
    line["time"] = fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(spdlog::log_clock::to_time_t(time)),
                               time.time_since_epoch().count() % 1000);
    line["level"] = std::string_view(spdlog::level::to_string_view(message.level).data());
    line["message"] = std::string_view(message.payload.data(), message.payload.size());
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

void Install(spdlog::level::level_enum level, LogFormat format) {
  const char* const plain = std::getenv("NO_COLOR");  // https://no-color.org
  const auto colour = plain != nullptr && *plain != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  // Not registered under a name, so it can be made anew.
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour));
  logger->set_level(level);
  // On a terminal a line takes the place of the progress bar (progress_bar.h).
  logger->set_pattern(std::string(ProgressBar::HasTerminal() ? kClearBelow : "") + "%H:%M:%S.%e %^%l%$ %v");
  if (format == LogFormat::kJson) logger->set_formatter(std::make_unique<JsonFormatter>());
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

absl::Status SetUpLog(const std::string& level, LogFormat format) {
  for (const Level& known : kLevels) {
    if (level != known.name) continue;
    try {
      Install(known.value, format);
    } catch (const spdlog::spdlog_ex& error) {
      return Internal("cannot set up the log: {}", error.what());
    }
    return absl::OkStatus();
  }
  return InvalidArgument("log level: found '{}', allowed are trace, debug, info, warn, error, off", level);
}

}  // namespace partita
