#include "tools/commands/processes/signals.h"

#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr int kStopping[] = {SIGINT, SIGTERM};

std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may touch nothing else

void Stop(int signal) { stop.store(signal); }

}  // namespace

HandledSignals::HandledSignals(std::span<const int> signals, void (*handler)(int), int flags) {
  for (const int signal : signals) {
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
