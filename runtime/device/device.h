// A device: where streams run and memory lies. Implemented by host and cuda; tests/conformance is the suite for all.
//
// Streams, events, arenas and captured steps are owned by the caller. A captured step must be destroyed before the
// streams it was captured from, and these before the device.
// Thread-compatible: one thread creates and captures. Several devices may be used by several threads.
#ifndef PARTITA_RUNTIME_DEVICE_DEVICE_H_
#define PARTITA_RUNTIME_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/event.h"
#include "runtime/device/stream.h"

namespace partita {

class SpanRecorder;

// Device memory, 64-byte aligned, zeroed at creation, freed at destruction.
class Arena {
 public:
  virtual ~Arena() = default;
  virtual void* data() const = 0;  // never null
  virtual int64_t bytes() const = 0;
};

// The work enqueued on some streams between BeginCapture and EndCapture, to replay many times.
//
// A replay allocates nothing. If a task fails, the tasks not yet started are skipped on all streams of the step
// (events are still recorded, so nothing hangs); the next replay starts afresh. Destroying a step waits for its replay.
class CapturedStep {
 public:
  virtual ~CapturedStep() = default;

  // Starts one replay on all captured streams, after the work already enqueued there, and returns at once.
  // kFailedPrecondition: no Wait since the previous replay, or a stream is being captured.
  virtual absl::Status Launch() = 0;

  // Blocks until the replay has ended; returns the first error of any of its tasks. OK without a replay.
  virtual absl::Status Wait() = 0;

  // From the next replay on, `recorder` gets the spans of all tags; null turns recording off. The recorder must
  // stay alive until then. Not while a replay runs. Allocates; replays with recording do not.
  virtual void SetRecording(SpanRecorder* recorder) = 0;
};

// In bytes.
struct DeviceMemory {
  int64_t free = 0;
  int64_t total = 0;
};

// If streams compete for the device, work of a higher priority starts first.
enum class StreamPriority : uint8_t { kNormal, kRaised, kHigh };

class Device {
 public:
  virtual ~Device() = default;

  virtual const std::string& name() const = 0;

  // Whether the host may read and write arenas directly (while no stream uses the bytes).
  virtual bool host_addressable() const = 0;

  // kResourceExhausted: no more threads or device streams.
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string name, StreamPriority priority) = 0;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string name) {
    return CreateStream(std::move(name), StreamPriority::kNormal);
  }

  virtual absl::StatusOr<std::unique_ptr<Event>> CreateEvent() = 0;

  // kResourceExhausted: the device does not have this much memory. kInvalidArgument: negative.
  virtual absl::StatusOr<std::unique_ptr<Arena>> Allocate(int64_t bytes) = 0;

  // Memory of the host that streams of this device copy from and to without waiting (pinned, on a GPU); also 64-byte
  // aligned and zero. Same errors as Allocate.
  virtual absl::StatusOr<std::unique_ptr<Arena>> AllocateHost(int64_t bytes) = 0;

  // The memory that Allocate could return now, and the total.
  virtual absl::StatusOr<DeviceMemory> Memory() = 0;

  // From now on work enqueued on `streams` (all of this device, each named once) is recorded and not run. Inside a
  // capture an event must be recorded before it is waited for; one event may be recorded several times. The events
  // themselves are not needed any more after EndCapture. Arguments of tasks must outlive the step.
  virtual absl::Status BeginCapture(std::span<Stream* const> streams) = 0;

  // Ends the capture, even if it returns an error. kInvalidArgument: a tag was used on two streams.
  virtual absl::StatusOr<std::unique_ptr<CapturedStep>> EndCapture() = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_DEVICE_H_
