// A number that only grows, and threads that block until it has reached a value: how streams wait for events.
//
// Passing a signal that is already raised costs a load; raising one without waiters costs a store and a load; only real
// waits enter the kernel (futex). std::atomic::wait would do, but shares its waiter counts among unrelated addresses,
// so that one waiting stream makes the others' records enter the kernel. The number may wrap around.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_SIGNAL_H_
#define PARTITA_RUNTIME_DEVICE_HOST_SIGNAL_H_

#include <atomic>
#include <cstdint>

namespace partita {

class Signal {
 public:
  bool Reached(uint32_t value) const {
    return static_cast<int32_t>(value_.load(std::memory_order_acquire) - value) >= 0;
  }

  // Everything before Raise(v) happens before everything after Await(v). Neither may outlive the signal.
  void Raise(uint32_t value) {
    // Sequentially consistent, as is the count of waiters: either we see the waiter, or it sees the new value.
    value_.store(value);
    if (waiters_.load() != 0) Wake();
  }

  void Await(uint32_t value) {
    if (!Reached(value)) Block(value);
  }

 private:
  void Wake();
  void Block(uint32_t value);

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> waiters_{0};
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_SIGNAL_H_
