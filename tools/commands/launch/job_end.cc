#include "tools/commands/launch/job_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>

#include "tools/program/exit_code.h"

namespace partita {
namespace {

// By which a user ends a process.
constexpr int kTelling[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

bool MayDoBetter(const ProcessEnd& end) {
  if (!end.by_signal) return end.code == kExitUnavailable;
  return std::ranges::find(kTelling, end.code - 128) == std::end(kTelling);
}

}  // namespace

std::string HowItEnded(const ProcessEnd& end) {
  return end.by_signal ? fmt::format("signal {}", end.code - 128) : fmt::format("exit code {}", end.code);
}

std::vector<ProcessEnd> Culprits(const JobEnd& end) {
  const std::function<bool(const ProcessEnd&)> kinds[] = {
      [](const ProcessEnd& one) { return !one.asked && one.code != kExitUnavailable; },
      [](const ProcessEnd& one) { return one.stopped; },
      [](const ProcessEnd& one) { return one.asked; },
  };
  std::vector<ProcessEnd> failed;
  std::ranges::copy_if(end.ends, std::back_inserter(failed), [](const ProcessEnd& one) { return one.code != 0; });
  for (const auto& kind : kinds) {
    std::vector<ProcessEnd> culprits;
    std::ranges::copy_if(failed, std::back_inserter(culprits), kind);
    if (!culprits.empty()) return culprits;
  }
  if (failed.size() > 1) failed.resize(1);
  return failed;
}

int CodeOf(const JobEnd& end) {
  const std::vector<ProcessEnd> culprits = Culprits(end);
  return end.code != kExitUnavailable || culprits.front().asked ? end.code : culprits.front().code;
}

bool MayBeStartedAgain(const JobEnd& end) {
  const std::vector<ProcessEnd> culprits = Culprits(end);
  return !end.told && !culprits.empty() && std::ranges::all_of(culprits, MayDoBetter);
}

}  // namespace partita
