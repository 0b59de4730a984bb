#include "tools/commands/processes/set_up.h"

#include <spdlog/spdlog.h>

#include <string>

#include "run/host/log.h"
#include "runtime/telemetry/log.h"
#include "tools/program/start/nccl_variables.h"

namespace partita {
namespace {

void ToSpdlog(LogLevel level, const std::string& line) {
  const auto of_spdlog = level == LogLevel::kWarning ? spdlog::level::warn
                         : level == LogLevel::kInfo  ? spdlog::level::info
                                                     : spdlog::level::debug;
  spdlog::log(of_spdlog, "{}", line);
}

}  // namespace

absl::Status SetUpProcess(const RunSpec& spec) {
  if (spec.execution().device() == "cuda" && spec.execution().deterministic()) ExcludeNvls();
  SetLogSink(ToSpdlog);
  const std::string& level = spec.output().log();
  const LogFormat format = spec.output().log_format() == "json" ? LogFormat::kJson : LogFormat::kText;
  return SetUpLog(level == "warning" ? "warn" : level, format);
}

}  // namespace partita
