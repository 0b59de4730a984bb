// What a host stream does: one entry of its queue or of its part of a captured step. Plain data, 32 bytes, so that a
// replay is a walk over an array.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "runtime/device/host/signal.h"

namespace partita {

// Work of one kernel: a plain function and its argument, which the one who enqueues owns.
struct HostTask {
  absl::Status (*run)(void* argument) = nullptr;
  void* argument = nullptr;
};

struct HostNode {
  enum class Kind : uint8_t { kTask, kCopy, kZero, kRecord, kWait };
  struct Transport {
    void* to;
    const void* from;
    int64_t bytes;
  };

  Kind kind = Kind::kTask;
  bool begins_tag = false;  // the first and the last task of a tag take its stamps
  bool ends_tag = false;
  int32_t tag = -1;
  union {
    HostTask task{};      // kTask
    Transport transport;  // kCopy, kZero
    Signal* signal;       // kRecord, kWait
  };
};
static_assert(sizeof(HostNode) == 32);

// Runs a kTask, kCopy or kZero.
absl::Status RunHostTask(const HostNode& node);

// The seeded delays of one stream (HostDeviceOptions).
class HostDelay {
 public:
  HostDelay(std::optional<uint64_t> seed, double probability, int microseconds, int stream);

  bool enabled() const { return enabled_; }

  // Sleeps, or not, as seed, stream, task and replay say.
  void Before(uint64_t task, uint64_t replay) const;

  // What Before does, in microseconds.
  int Microseconds(uint64_t task, uint64_t replay) const;

 private:
  bool enabled_;
  uint64_t key_;
  double probability_;
  int microseconds_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_NODE_H_
