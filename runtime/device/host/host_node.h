// One operation of a host stream: an entry of its queue or of its part of a captured step. Plain data, 32 bytes, so
// that a replay is a walk over an array.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/device/byte_copy.h"
#include "runtime/device/host/signal.h"
#include "runtime/device/seeded_delay.h"

namespace partita {

// Work of one kernel: a plain function and its argument, which the one who enqueues owns.
struct HostTask {
  absl::Status (*run)(void* argument) = nullptr;
  void* argument = nullptr;
};

struct HostNode {
  enum class Kind : uint8_t { kTask, kCopy, kZero, kRecord, kWait };

  Kind kind = Kind::kTask;
  bool begins_tag = false;  // the first and the last task of a tag take its stamps
  bool ends_tag = false;
  int32_t tag = -1;
  union {
    HostTask task{};  // kTask
    ByteCopy copy;    // kCopy, kZero
    Signal* signal;   // kRecord, kWait
  };
};
static_assert(sizeof(HostNode) == 32);

// Runs a kTask, kCopy or kZero.
absl::Status RunHostTask(const HostNode& node);

// Sleeps, or not, as the stream's delay says.
void SleepBefore(const SeededDelay& delay, uint64_t task, uint64_t replay);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_
