#include "tools/commands/processes/signals.h"

#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr int kStopping[] = {SIGHUP, SIGINT, SIGTERM};

std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may touch nothing else

void Stop(int signal) { stop.store(signal); }

// As `nohup` starts a process that shall outlive its terminal.
bool StaysIgnored(int signal) {
  struct sigaction action {};
  return signal == SIGHUP && sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
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

StopSignals::StopSignals() : handled_(kStopping, Stop, SA_RESTART | static_cast<int>(SA_RESETHAND)) {}

const std::atomic<int>& StopSignals::flag() const { return stop; }

int ExitCodeOfSignal(int signal) { return 128 + signal; }

}  // namespace partita
