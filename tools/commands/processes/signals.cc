#include "tools/commands/processes/signals.h"

#include <csignal>

#include "runtime/base/check.h"

namespace partita {
namespace {

std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may touch nothing else

void Handle(int signal) { stop.store(signal); }

}  // namespace

const std::atomic<int>& StopOnSignals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = Handle;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    CHECK(sigaction(signal, &action, nullptr) == 0);
  }
  return stop;
}

int ExitCodeOfSignal(int signal) { return 128 + signal; }

}  // namespace partita
