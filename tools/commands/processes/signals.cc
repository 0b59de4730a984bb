#include "tools/commands/processes/signals.h"

#include "runtime/base/check.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int kStopping[] = {SIGHUP, SIGINT, SIGTERM};

std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may touch nothing else

void Stop(int signal) { stop.store(signal); }

void StopUnlessStopping(int) {
  int none = 0;
  stop.compare_exchange_strong(none, SIGTERM);
}

// As `nohup` starts a process that shall outlive its terminal.
bool StaysIgnored(int signal) {
  struct sigaction action {};
  return (signal == SIGHUP || IsWarning(signal)) && sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

HandledSignals::HandledSignals(std::span<const int> signals, void (*handler)(int), int flags) {
  for (const int signal : signals) {
    if (StaysIgnored(signal)) continue;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    before_.emplace_back(signal, action);
    CHECK(sigaction(signal, &action, &before_.back().second) == 0);
  }
}

HandledSignals::~HandledSignals() {
  for (const auto& [signal, action] : before_) sigaction(signal, &action, nullptr);
}

StopSignals::StopSignals() : handled_(kStopping, Stop, SA_RESTART | static_cast<int>(SA_RESETHAND)) {
  struct sigaction action {};
  action.sa_handler = StopUnlessStopping;
  action.sa_flags = SA_RESTART;
  for (const int signal : kWarningSignals) {
    if (!StaysIgnored(signal)) CHECK(sigaction(signal, &action, nullptr) == 0);
  }
}

const std::atomic<int>& StopSignals::flag() const { return stop; }

int ExitCodeOfSignal(int signal) { return 128 + (IsWarning(signal) ? SIGTERM : signal); }

}  // namespace partita
