// Runs one rank's schedule on a device: binds offsets to addresses, makes kernels, captures all launches with their
// streams and waits once, and replays them step by step (design.md section 1, items 7 to 9).
//
// A step allocates nothing and never waits for the host between its first and its last launch. Thread-compatible.
#ifndef PARTITA_RUNTIME_EXEC_EXECUTOR_H_
#define PARTITA_RUNTIME_EXEC_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/schedule.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/exec/kernel.h"
#include "runtime/exec/watch.h"

namespace partita {

// What a schedule is bound to. Everything is owned by the caller and must outlive the executor, but for the lists.
struct ExecutorBinding {
  Device* device = nullptr;
  std::vector<Stream*> streams;              // at least Schedule::streams of them, of `device`
  void* arena = nullptr;                     // at least MemoryUse::total bytes, 64-byte aligned
  const KernelLibrary* kernels = nullptr;    // that the schedule was made with; only used by Create
  std::vector<Communicator*> communicators;  // by group id; null where this rank is no member
  uint64_t seed = 0;                         // of the run
};

// For tests and diagnoses, on host streams only. All off: the schedule and nothing else.
struct ExecutorOptions {
  // Values whose bytes are copied right after the launch that writes them, with the real offsets (those that are there
  // before the step: when it starts).
  std::vector<ValueId> observe;
  // Looks through every floating value for one that is not finite.
  bool check_finite = false;
  // Runs the launches one after the other in program order, over all streams, and overwrites the bytes of every
  // lifetime when it begins and when it ends (kPoisonByte). With the launches at once, a late reader would race.
  bool poison = false;
};

class Executor {
 public:
  // Errors: kInternal (a schedule that does not fit the binding), and those of kernels, streams and communicators.
  // `schedule` is not needed afterwards.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Schedule& schedule, ExecutorBinding binding,
                                                          ExecutorOptions options = {});

  // Waits for the step that runs.
  ~Executor();

  // Starts a step and returns. Staged inputs must be in their places. kFailedPrecondition: the step before was not
  // waited for.
  absl::Status Start();

  // Blocks until the step has ended; returns the first error of any launch.
  absl::Status Wait();

  // From the next step on `recorder` gets the spans, the index of the launch being the tag; null turns it off.
  void SetRecording(SpanRecorder* recorder) { step_->SetRecording(recorder); }

  // After a step: the bytes of an observed value; null if it was not observed or this rank holds nothing of it.
  const void* Observed(ValueId value) const;

  // After a step with check_finite: the first value in program order that is not finite; kNoValue if there is none.
  ValueId FirstNonFinite() const;

 private:
  struct Watched {
    ValueId value = kNoValue;
    int launch = -1;  // -1: before the step
    Watch watch;
  };

  explicit Executor(ExecutorBinding binding);
  absl::Status PlanWatches(const Schedule& schedule, const ExecutorOptions& options);
  absl::Status Capture(const Schedule& schedule, const ExecutorOptions& options);
  absl::Status Walk(const Schedule& schedule, const ExecutorOptions& options);
  absl::Status EnqueueWork(const Launch& launch, Stream& stream);
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelLaunch& launch) const;

  const ExecutorBinding binding_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::deque<Watched> watched_;  // of values, by launch; addresses are tasks' arguments
  std::deque<Watch> poison_;
  std::vector<std::vector<Watch*>> before_, behind_;  // by launch; empty lists if nothing is watched
  std::vector<Watched*> at_start_;
  std::unordered_map<ValueId, const Watch*> observed_;
  std::unique_ptr<CapturedStep> step_;  // last: its tasks use the rest
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_EXECUTOR_H_
