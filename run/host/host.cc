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

}  // namespace partita
