// Named places where a process can be made to die, to fail or to wait, so that tests show that its job survives it.
//
// They are always compiled in; if none is armed, passing one costs a load. The owner of the process arms them; nothing
// here reads the environment. Thread-safe, except arming.
#ifndef PARTITA_RUNTIME_FAIL_POINTS_FAIL_POINT_H_
#define PARTITA_RUNTIME_FAIL_POINTS_FAIL_POINT_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace partita {

// In the order in which a run comes to them.
enum class FailPoint : uint8_t {
  kJobJoined,
  kJobConnected,
  kTrainingStep,
  kTrainingEvaluation,
  kCheckpointBegun,
  kCheckpointShards,
  kCheckpointRecord,
  kCheckpointCommitted,
  kJobLeaving,
};

struct FailPointName {
  FailPoint point;
  const char* name;
  const char* where;  // for display
};

std::span<const FailPointName> FailPoints();

// The rank of this process in a job, and the number of its start, from 0.
struct FailPointProcess {
  int rank = 0;
  int64_t start = 0;
};

// "checkpoint.record=kill,rank=1,pass=3,start=0; training.step=error": at each of these points this process performs
// the action if it has this rank and start, at the given pass (from 1). Defaults: any rank, any start, the first pass.
// kill: SIGKILL; error: a kUnavailable; wait: forever. kInvalidArgument: a malformed text; then nothing is armed. To be
// called before any point is passed. "": none.
absl::Status ArmFailPoints(const std::string& text, const FailPointProcess& process);

namespace fail_point {
extern std::atomic<bool> any_armed;
absl::Status PassArmed(FailPoint point);
}  // namespace fail_point

// OK, unless it is armed to fail here.
inline absl::Status Pass(FailPoint point) {
  if (!fail_point::any_armed.load(std::memory_order_relaxed)) [[likely]]
    return absl::OkStatus();
  return fail_point::PassArmed(point);
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_FAIL_POINTS_FAIL_POINT_H_
