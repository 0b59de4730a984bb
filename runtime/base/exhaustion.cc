#include "runtime/base/exhaustion.h"

#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <limits>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Nothing where there is no such file, or it says "max".
std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// pids.events: "max 3", how often the limit was met.
bool HasRefused(const ControlGroup& group) {
  std::ifstream file(group.folder + "/pids.events");
  std::string name;
  int64_t count = 0;
  while (file >> name >> count) {
    if (name == "max" && count > 0) return true;
  }
  return false;
}

struct GroupLimit {
  std::string path;
  int64_t most = 0, left = 0;
};

// /proc/loadavg: "0.1 0.2 0.3 2/345 6789", of 345 threads on the machine 2 run.
int64_t ThreadsOfMachine() {
  std::ifstream file("/proc/loadavg");
  std::string word;
  int64_t running = 0, all = 0;
  char slash = 0;
  for (int i = 0; i < 3; ++i) file >> word;
  return file >> running >> slash >> all ? all : std::numeric_limits<int64_t>::max();
}

// None: there is no limit, or one so far above all threads of the machine that it cannot have been met.
std::optional<int64_t> LimitOfUser() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  if (limit.rlim_cur / 2 > static_cast<rlim_t>(ThreadsOfMachine())) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace

std::string DescribeThreadLimit(std::optional<int64_t> of_user, const std::string& root) {
  std::optional<GroupLimit> tightest;
  bool refused = false;
  for (const ControlGroup& group : ControlGroupsOf("pids", root)) {
    refused |= HasRefused(group);
    const std::optional<int64_t> most = ReadNumber(group.folder + "/pids.max");
    if (!most) continue;
    const int64_t left = *most - ReadNumber(group.folder + "/pids.current").value_or(0);
    if (!tightest || left < tightest->left) tightest = {group.path.empty() ? "/" : group.path, *most, left};
  }
  constexpr char kAdvice[] = "raise it, or use fewer threads (--threads) or ranks";
  const std::string of_group =
      tightest ? fmt::format("pids.max of the control group {} is {}", tightest->path, tightest->most) : "";
  const std::string of_shell = of_user ? fmt::format("`ulimit -u` is {}", *of_user) : "";
  // Where threads have ended since, a group is not full any more, and its count alone does not say that it was this
  // one.
  const bool is_full = tightest && tightest->left <= 0;
  if (is_full || (tightest && refused && !of_user)) return fmt::format("{}; {}", of_group, kAdvice);
  if (tightest && refused) return fmt::format("{}, {}; {}", of_group, of_shell, kAdvice);
  if (of_user) return fmt::format("{}; {}", of_shell, kAdvice);
  return "no limit on threads is met: there is no memory for one, or the machine has kernel.threads-max of them";
}

bool LacksDescriptors(int error) { return error == EMFILE || error == ENFILE; }

absl::Status NoDescriptors(const std::string& what) {
  return ResourceExhausted("{}: there are no more descriptors; raise the limit (ulimit -n)", what);
}

absl::Status NoThread(const std::string& what, int error) {
  const std::string reason = std::generic_category().message(error);  // std::strerror is not thread-safe
  if (error != EAGAIN) return ResourceExhausted("{}: {}", what, reason);
  return ResourceExhausted("{}: {}; {}", what, reason, DescribeThreadLimit(LimitOfUser(), ""));
}

absl::Status SystemRefuses(const char* what, const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again) {
    return NoThread(std::string(what) + ": cannot start a thread", EAGAIN);
  }
  return ResourceExhausted("{}: the system refuses: {}", what, error.what());
}

}  // namespace partita
