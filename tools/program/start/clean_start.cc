#include "tools/program/start/clean_start.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "tools/program/exit_code.h"
#include "tools/program/start/nccl_variables.h"
#include "tools/program/start/waiting_threads.h"

namespace partita {
namespace {

// "NAME=value" of what was dropped, for the process that starts in our place; each with the separator behind it.
constexpr char kDroppedVariable[] = "PARTITA_DROPPED_VARIABLES";
constexpr char kSeparator = '\x1f';

// The affinity mask that the process was started with. libgomp may narrow it to one core when it is loaded
// (OMP_PROC_BIND), so it is read before any library begins, sanitizers among them.
unsigned char mask_at_start[8192];
long mask_bytes = -1;

[[gnu::no_sanitize("address", "thread", "undefined")]] void ReadMask() {
  mask_bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask_at_start), mask_at_start);
}

// Until RunMain takes warnings: by default they end the program with a code that means a lost peer.
[[gnu::no_sanitize("address", "thread", "undefined")]] void BlockWarnings() {
  uint64_t signals = 0;  // as the kernel has them
  for (const int signal : kWarningSignals) signals |= uint64_t{1} << (signal - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, nullptr, sizeof(signals));
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const read_mask)() = ReadMask;
[[gnu::section(".preinit_array"), gnu::used]] void (*const block_warnings)() = BlockWarnings;

std::vector<FoundVariable> ToDrop() {
  std::vector<FoundVariable> found = FindLibraryVariables(environ);
  std::erase_if(found, [](const FoundVariable& one) { return one.about->handling != VariableHandling::kDropped; });
  return found;
}

// By its own path, so that the process keeps the name that `ps` and `top` show.
void StartAgain(char** argv) {
  if (mask_bytes > 0) syscall(SYS_sched_setaffinity, 0, mask_bytes, mask_at_start);
  constexpr char kSelf[] = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kSelf, error);
  if (!error) execv(path.c_str(), argv);
  execv(kSelf, argv);
}

// What was dropped before this process began.
std::vector<FoundVariable> Dropped() {
  const char* const text = std::getenv(kDroppedVariable);
  std::string entries = text == nullptr ? "" : text;
  std::vector<const char*> environment;
  for (char *begin = entries.data(), *end; (end = std::strchr(begin, kSeparator)) != nullptr; begin = end + 1) {
    *end = '\0';
    environment.push_back(begin);
  }
  environment.push_back(nullptr);
  return FindLibraryVariables(environment.data());
}

}  // namespace

void StartClean(char** argv) {
  const std::vector<FoundVariable> dropped = ToDrop();
  bool changed = ChooseWaiting() || !dropped.empty();
  KeepNcclFromStandardOutput();
  if (!changed) return;
  const char* const before = std::getenv(kDroppedVariable);
  std::string entries = before == nullptr ? "" : before;
  for (const FoundVariable& one : dropped) {
    unsetenv(one.name.c_str());
    entries += one.name + "=" + one.value + kSeparator;
  }
  if (!entries.empty()) setenv(kDroppedVariable, entries.c_str(), 1);
  StartAgain(argv);
  if (dropped.empty()) return;
  std::fprintf(stderr, "the program cannot start again without %s: %s; unset it\n", dropped.front().name.c_str(),
               std::strerror(errno));
  std::_Exit(kExitResources);
}

std::vector<FoundVariable> VariablesOfLibraries() {
  std::vector<FoundVariable> all = FindLibraryVariables(environ);
  std::ranges::move(Dropped(), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &FoundVariable::name);
  return all;
}

}  // namespace partita
