#include "runtime/comm/transport/shared_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace partita {
namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Until `word` is not `value` any more, or for a moment: an end that comes just before it sleeps wakes nobody.
void Sleep(std::atomic<uint32_t>& word, uint32_t value) {
  const timespec moment{0, 50'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &moment, nullptr, 0);
}

void Wake(std::atomic<uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0); }

}  // namespace

uint32_t SharedRing::UsedBytes(int ranks) {
  const uint32_t rings = 2 * static_cast<uint32_t>(std::max(ranks - 1, 1));
  return std::clamp(std::bit_floor((8u << 20) / rings), 16u << 10, kMostBytes);
}

bool SharedRing::Write(std::span<const char> from, uint32_t used) {
  uint32_t written = written_.load(std::memory_order_relaxed);
  while (!from.empty()) {
    if (ended_.load() != 0) return false;
    const uint32_t read = read_.load(std::memory_order_acquire), unread = written - read;
    if (unread > used) return false;  // no reader counts so
    if (unread == used) {
      writer_waits_.store(1);
      if (read_.load() == read && ended_.load() == 0) Sleep(read_, read);
      writer_waits_.store(0);
      continue;
    }
    const uint32_t place = written % used;
    const size_t count = std::min<size_t>({from.size(), used - unread, used - place});
    std::memcpy(bytes_ + place, from.data(), count);
    from = from.subspan(count);
    written += static_cast<uint32_t>(count);
    written_.store(written);
    if (reader_waits_.load() != 0) Wake(written_);
  }
  return true;
}

bool SharedRing::Read(std::span<char> to, uint32_t used) {
  uint32_t read = read_.load(std::memory_order_relaxed);
  while (!to.empty()) {
    const uint32_t written = written_.load(std::memory_order_acquire), available = written - read;
    if (available > used) return false;  // no writer counts so
    if (available == 0) {
      if (ended_.load() != 0) return false;
      reader_waits_.store(1);
      if (written_.load() == written && ended_.load() == 0) Sleep(written_, written);
      reader_waits_.store(0);
      continue;
    }
    const uint32_t place = read % used;
    const size_t count = std::min<size_t>({to.size(), available, used - place});
    std::memcpy(to.data(), bytes_ + place, count);
    to = to.subspan(count);
    read += static_cast<uint32_t>(count);
    read_.store(read);
    if (writer_waits_.load() != 0) Wake(read_);
  }
  return true;
}

void SharedRing::End() {
  ended_.store(1);
  Wake(written_);
  Wake(read_);
}

}  // namespace partita
