// Runs the schedules of ranks on a device: binds offsets to addresses, makes kernels, captures all launches with their
// streams and waits once, and replays them step by step (docs/design.md 1.8 and 1.9).
//
// One rank, or several that share a device: those are walked by one thread and captured into one step
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

// What a schedule is bound to. Everything is owned by the caller and must outlive the executor, but for the lists.
struct ExecutorBinding {
  Device* device = nullptr;
  std::vector<Stream*> streams;              // at least Schedule::streams of them, of `device`
  void* arena = nullptr;                     // at least MemoryUse::total bytes, 64-byte aligned
  const KernelLibrary* kernels = nullptr;    // that the schedule was made with; only used by Create
  std::vector<Communicator*> communicators;  // by group id; null where this rank is no member
  uint64_t seed = 0;                         // of the run
  // Where the host does not reach the arena: copies between the arena and memory of Device::AllocateHost, before the
  // first launch (staged inputs) and after the last one (what the step reports). Both have a place for each turn: as
  // many steps may be in flight.
  std::vector<std::vector<ByteCopy>> at_start;
  std::vector<std::vector<ByteCopy>> at_end;
};

// For tests and diagnoses. As it is: the schedule and nothing else. `check_finite` and `poison` on host streams only.
struct ExecutorOptions {
  // Values whose bytes are copied right after the launch that writes them, with the real offsets (those that are there
  // before the step: when it starts).
  std::vector<ValueId> observe;
  // Looks through every floating value for one that is not finite.
  bool check_finite = false;
  // Runs the launches one after the other in program order, over all streams, and overwrites the bytes of every
  // lifetime when it begins and when it ends (kPoisonByte). With the launches at once, a late reader would race.
  bool poison = false;
  // False: nothing is captured, every step enqueues all launches anew, under their names for profilers. Slow.
  bool replay = true;
};

struct ExecutorRank {
  const Schedule* schedule = nullptr;  // outlives the executor, unless it replays
  ExecutorBinding binding;
  ExecutorOptions options;
};

class RankWalk;

class Executor {
 public:
  // Errors: kInternal (a schedule that does not fit the binding), and those of kernels, streams and communicators.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Schedule& schedule, ExecutorBinding binding,
                                                          ExecutorOptions options = {});

  // For several ranks of one device, all of them with or without replay and with as many turns; `ranks` is not empty.
  // Their order is that of the arguments `rank` below.
  static absl::StatusOr<std::unique_ptr<Executor>> CreateTogether(const std::vector<ExecutorRank>& ranks);

  // Waits for the step that runs.
  ~Executor();

  // Starts a step, behind those that run, and returns. Staged inputs must be in their places, those of `turn`.
  // kFailedPrecondition: the step before of this turn was not waited for.
  absl::Status Start(int turn = 0);

  // Blocks until the step that was started first of those not waited for has ended, without replay all of them; returns
  // the first error of any launch.
  absl::Status Wait();

  // Whether the last error of Wait is about the step's data alone: a kernel met a label, an id or a length that is out
  // of range (KernelArguments::fault). All launches have run, and after ClearWords the next step may start.
  bool wrong_data() const { return wrong_data_; }

  // While no step runs: forgets what kernels left behind in steps (KernelArguments), so that the next one begins as if
  // there had been none. To be called after an error of Wait, and after a step that was not applied.
  absl::Status ClearWords();

  // From the next step on the spans of all launches are kept; not without replay.
  void SetRecording(bool on);
  // Of the last recorded step, by launch; empty if nothing is recorded.
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
  std::vector<int> started_;                          // turns of the steps that were not waited for, oldest first
  std::vector<std::unique_ptr<CapturedStep>> steps_;  // by turn; last: their tasks use the rest
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_EXECUTOR_H_
