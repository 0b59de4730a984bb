// An ordered queue of work on a device.
//
// Enqueuing returns at once. Work of one stream runs in order; work of two streams runs concurrently unless an event
// orders it. Buffers must stay valid until the stream has passed the work that uses them. While the device captures
// this stream, work is not run but recorded in the captured step (Device::BeginCapture).
//
// An error of the work itself appears later: outside of captures the stream skips the tasks behind a failed one
// (events are still recorded, nothing hangs) until Synchronize returns the error; in a replay see CapturedStep.
// Destroying a stream waits for its work. Thread-compatible: one thread enqueues at a time.
#ifndef PARTITA_RUNTIME_DEVICE_STREAM_H_
#define PARTITA_RUNTIME_DEVICE_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/device/event.h"
#include "runtime/device/strided_copy.h"

namespace partita {

class Stream {
 public:
  virtual ~Stream() = default;

  virtual const std::string& name() const = 0;

  // From now on `event` marks this position in the stream. kInvalidArgument: an event of another kind of device.
  virtual absl::Status Record(Event& event) = 0;

  // Work enqueued on this stream from now on starts after the position that `event` marks at this call; later records
  // do not matter. kInvalidArgument: inside a capture, the event was not recorded earlier in the same capture; outside,
  // its latest record was captured.
  virtual absl::Status Wait(Event& event) = 0;

  // Copies `bytes` between buffers that do not overlap, each in an arena or in memory of Device::AllocateHost; 0 bytes
  // are allowed, negative are kInvalidArgument.
  virtual absl::Status Copy(void* to, const void* from, int64_t bytes) = 0;

  // The same for runs of bytes. `copy` must stay valid and unmoved while the work may run.
  virtual absl::Status CopyStrided(const StridedCopy& copy) = 0;

  // Fills `bytes` with zeros.
  virtual absl::Status Zero(void* to, int64_t bytes) = 0;

  // Blocks until all work enqueued so far has ended; returns the first error of work outside of captured steps
  // since the last call. kFailedPrecondition while the stream is captured.
  virtual absl::Status Synchronize() = 0;

  // Work enqueued from now on belongs to launch `node` of the timeline (SpanRecorder), which profilers of the device
  // show as `name`; -1: to none.
  virtual void Tag(int32_t node, const std::string& name) = 0;
  void Tag(int32_t node) { Tag(node, {}); }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_STREAM_H_
