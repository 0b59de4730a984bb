#include "runtime/device/host/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace partita {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Signal::Wake() { Futex(value_, FUTEX_WAKE_PRIVATE, INT_MAX); }

void Signal::Block(uint32_t value) {
  waiters_.fetch_add(1);
  while (true) {
    const uint32_t seen = value_.load();
    if (static_cast<int32_t>(seen - value) >= 0) break;
    Futex(value_, FUTEX_WAIT_PRIVATE, seen);  // returns at once if the value is another by now; errors only repeat
  }
  waiters_.fetch_sub(1);
}

}  // namespace partita
