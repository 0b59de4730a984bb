// The processes among which the ranks of a program are spread, as a session sees them: which ranks live here, how they
// communicate in a step, and what messages the processes exchange between steps. A session without a job owns all
// ranks.
#ifndef PARTITA_RUNTIME_API_JOB_JOB_H_
#define PARTITA_RUNTIME_API_JOB_JOB_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/job/message.h"
#include "runtime/comm/world.h"

namespace partita {

// Thread-compatible, but world().Abort() may come from any thread; it also ends an AllGather.
class Job {
 public:
  virtual ~Job() = default;

  // Of the program's mesh; those of this process, ascending, at least one.
  virtual const std::vector<int>& ranks() const = 0;

  // For the ranks of this process.
  virtual World& world() = 0;

  // The world in which the ranks of this process communicate in steps, if it is not world(). The job aborts it when it
  // fails, and reports its records. Null: the world is about to be destroyed. A job that notices no failures may ignore
  // this.
  virtual void SetStepWorld(World* /*world*/) {}

  // How long processes may take to find each other.
  virtual std::chrono::milliseconds join_timeout() const = 0;

  // What an AllGather brings from each other process besides its bytes.
  static constexpr int64_t kGatherHeaderBytes = sizeof(MessageHeader);

  // Returns the bytes of every process on all of them, in the order of their first ranks. All processes call it in the
  // same order, never while a step runs. kUnavailable: a process is gone, or sends another kind of message (message.h).
  // The content of the bytes is not checked (see PackedReader).
  virtual absl::StatusOr<std::vector<std::string>> AllGather(const Message& message) = 0;

  // The bytes that AllGather has brought to this process from others so far, as counted by the transport.
  virtual int64_t gathered_bytes() const = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_JOB_H_
