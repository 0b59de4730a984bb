#include "tools/program/version/host.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace partita {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

Host ThisHost() {
  Host host{"unknown", "unknown", ProcessorName(), static_cast<int>(std::thread::hardware_concurrency())};
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
