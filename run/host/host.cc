#include "run/host/host.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>

#include "ops/host/timing/processor.h"
#include "runtime/device/host/cores.h"

namespace partita {

Host ThisHost() {
  const Processors processors = FindProcessors();
  Host host{"unknown", "unknown", ProcessorName(), processors.usable(), processors.online};
  utsname names{};
  if (uname(&names) != 0) return host;
  host.name = names.nodename;
  host.system = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  return host;
}

std::string TimeNow() {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string PreciseTimeNow() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     now.time_since_epoch().count() % 1000);
}

}  // namespace partita
