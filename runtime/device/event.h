// A point in a stream's work that other streams, or the host, can wait for.
//
// An event stands for its latest Stream::Record. One that was never recorded counts as reached. What an event
// stood for inside a captured step is known only there (see Device::BeginCapture): the two methods below speak
// of records outside of captures.
#ifndef PARTITA_RUNTIME_DEVICE_EVENT_H_
#define PARTITA_RUNTIME_DEVICE_EVENT_H_

#include "absl/status/status.h"

namespace partita {

class Event {
 public:
  virtual ~Event() = default;

  // True when the stream has passed the latest record. Never blocks.
  virtual bool Reached() const = 0;

  // Blocks the calling thread until then. Errors of the work before the record are the stream's, not the event's.
  virtual absl::Status Synchronize() = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_EVENT_H_
