// Runs the schedules of ranks on a device: binds offsets to addresses, makes kernels, captures all launches with their
// streams and waits once, and replays them step by step (docs/design.md 1.8 and 1.9).
//
// Runs one rank, or several that share a device: one thread enqueues those and captures them into one step
// (docs/design.md 5.6). A step allocates nothing and never waits for the host between its first and its last launch.
// Thread-compatible.
#ifndef PARTITA_RUNTIME_EXEC_EXECUTOR_H_
#define PARTITA_RUNTIME_EXEC_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/schedule/schedule.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/byte_copy.h"
#include "runtime/device/device.h"
#include "runtime/device/span_recorder.h"
#include "runtime/exec/kernel.h"

namespace partita {

// The objects that a schedule is bound to. The caller owns all of them; except for the lists, they must outlive the
// executor.
struct ExecutorBinding {
  Device* device = nullptr;
  std::vector<Stream*> streams;              // at least Schedule::streams of them, of `device`
  void* arena = nullptr;                     // at least MemoryUse::total bytes, 64-byte aligned
  const KernelLibrary* kernels = nullptr;    // the library that the schedule was made with; only used by Create
  std::vector<Communicator*> communicators;  // by group id; null if this rank is not a member
  uint64_t seed = 0;                         // of the run
  // If the host cannot access the arena: copies between the arena and memory of Device::AllocateHost, before the first
  // launch (staged inputs) and after the last one (results). Both have one entry per turn, the number of steps that may
  // be in flight.
  std::vector<std::vector<ByteCopy>> at_start;
  std::vector<std::vector<ByteCopy>> at_end;
};

// For tests and diagnosis. The defaults run only the schedule. `check_finite` and `poison` on host streams only.
struct ExecutorOptions {
  // Values whose bytes are copied right after the launch that writes them, with the real offsets (values that exist
  // before the step: when it starts).
  std::vector<ValueId> observe;
  // Checks every floating value for non-finite numbers.
  bool check_finite = false;
  // Runs the launches one after the other in program order, over all streams, and overwrites the bytes of every
  // lifetime when it begins and when it ends (kPoisonByte). With concurrent launches, a late reader would race.
  bool poison = false;
  // False: no capture; every step enqueues all launches again, under their names for profilers. Slow.
  bool replay = true;
};

struct ExecutorRank {
  const Schedule* schedule = nullptr;  // must outlive the executor unless it replays
  ExecutorBinding binding;
  ExecutorOptions options;
};

class RankWalk;

class Executor {
 public:
  // Errors: kInternal (a schedule that does not match the binding), and those of kernels, streams and communicators.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Schedule& schedule, ExecutorBinding binding,
                                                          ExecutorOptions options = {});

  // For several ranks of one device, with equal `replay` and number of turns; `ranks` is not empty. The arguments
  // `rank` below index this list.
  static absl::StatusOr<std::unique_ptr<Executor>> CreateTogether(const std::vector<ExecutorRank>& ranks);

  // Waits for the running step.
  ~Executor();

  // Starts a step after the running ones and returns. The staged inputs of `turn` must be in their buffers.
  // kFailedPrecondition: no Wait for the previous step of this turn.
  absl::Status Start(int turn = 0);

  // Blocks until the oldest running step has ended, without replay all of them; returns the first error of any launch.
  absl::Status Wait();

  // Whether the last error of Wait is about the step's data alone: a kernel met a label, an id or a length that is out
  // of range (KernelArguments::fault). All launches have run, and after ClearWords the next step may start.
  bool wrong_data() const { return wrong_data_; }

  // Clears the words that kernels wrote in steps (KernelArguments), so that the next step starts afresh. Call it after
  // an error of Wait and after a step that was not applied, while no step runs.
  absl::Status ClearWords();

  // Records the spans of all launches from the next step on; requires replay.
  void SetRecording(bool on);
  // The spans of the last recorded step, by launch; empty if nothing was recorded.
  std::vector<Span> Spans(int rank = 0) const;

  // After a step: the bytes of an observed value; null if it was not observed or the rank holds nothing of it.
  const void* Observed(ValueId value, int rank = 0) const;

  // After a step with check_finite: the first value in program order that is not finite; kNoValue if there is none.
  ValueId FirstNonFinite() const;

 private:
  Executor(Device* device, bool replay);
  int turns() const;
  absl::Status Capture(int turn);
  absl::Status Walk(int turn);
  absl::Status WalkOneCollective();
  absl::Status WaitForStreams();

  Device* const device_;
  const bool replay_;
  std::vector<Stream*> streams_;  // of all ranks
  std::vector<std::unique_ptr<RankWalk>> walks_;
  std::vector<int32_t> first_tags_;  // by rank, and one more
  SpanRecorder recorder_;
  bool recording_ = false;
  bool wrong_data_ = false;
  std::vector<int> started_;                          // turns of the running steps, oldest first
  std::vector<std::unique_ptr<CapturedStep>> steps_;  // by turn; last: their tasks use the rest
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_EXECUTOR_H_
