// An output stream that does not block its writer: a separate thread waits for the reader.
//
// A training whose output is not read (`train | less`, a stopped terminal) continues, and can still be stopped.
#ifndef PARTITA_TOOLS_PROGRAM_QUEUED_OUTPUT_H_
#define PARTITA_TOOLS_PROGRAM_QUEUED_OUTPUT_H_

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>

#include "absl/status/status.h"

namespace partita {

// Thread-compatible. A flush waits a moment, so that an active reader sees output in order.
class QueuedOutput : public std::ostream {
 public:
  explicit QueuedOutput(int descriptor);
  // Nothing that is still kept is written.
  ~QueuedOutput() override;

  // Waits until everything is written, at most for `patience`. kResourceExhausted: it cannot be written, or was not in
  // that time.
  absl::Status Finish(std::optional<std::chrono::milliseconds> patience);

 private:
  class Queue;
  std::unique_ptr<Queue> queue_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_QUEUED_OUTPUT_H_
