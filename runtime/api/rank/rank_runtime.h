// One rank of a session: its device, streams, arena, communicators and an executor for each entry point.
#ifndef PARTITA_RUNTIME_API_RANK_RANK_RUNTIME_H_
#define PARTITA_RUNTIME_API_RANK_RANK_RUNTIME_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/schedule/schedule.h"
#include "runtime/api/rank/gather.h"
#include "runtime/api/rank/host_reach.h"
#include "runtime/api/rank/host_transfer.h"
#include "runtime/api/rank/input_stage.h"
#include "runtime/api/rank/result_places.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/comm/world.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/span_recorder.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/memory_check.h"

namespace partita {

// What a rank is made from.
struct RankParts {
  int rank = 0;
  int place = 0, places = 1;  // among the ranks of this process
  // These outlive the rank.
  Device* device = nullptr;                // that ranks share; null: a host device of the rank's own
  std::vector<const Schedule*> schedules;  // by entry point of the program
  const Program* program = nullptr;
  const KernelLibrary* kernels = nullptr;
  World* world = nullptr;
  std::function<void(const absl::Status&)> on_failure;  // HostDeviceOptions
};

// Thread-compatible.
class RankRuntime {
 public:
  // Allocates the arena, initialises the states, creates communicators in the order of the program.
  static absl::StatusOr<std::unique_ptr<RankRuntime>> Create(RankParts parts, const SessionOptions& options);
  ~RankRuntime();

  // Makes the executors of all ranks of a device; of one rank where each has its own.
  static absl::Status Capture(std::span<RankRuntime* const> ranks, const SessionOptions& options);

  // Before any of the ranks that share an executor is destroyed.
  void DropExecutors() { executors_.clear(); }

  // Ranks that share a device have one executor.
  Executor& executor(int entry) { return *executors_[entry]; }
  const std::vector<std::unique_ptr<Communicator>>& communicators() const { return communicators_; }
  std::vector<Stream*> streams() const;

  // The canaries in the arena and behind it; only where the host reaches it.
  const MemoryCheck& memory_check() const { return *memory_check_; }
  MemoryCheck& memory_check() { return *memory_check_; }
  absl::Status CheckGuards(bool guard_only) const;
  // The highest byte that was touched; as planned where the host cannot look.
  int64_t UsedMemory() const;

  // The bytes of an input of one of the schedules: a step takes them from there when it starts. Where the host reaches
  // the arena, those of a state as well.
  HeldTensor PartOf(const LocalTensor& tensor, int64_t offset) const;
  HeldTensor PartOf(const Placement& placement) const { return PartOf(placement.tensor, placement.offset); }
  // What a step of that turn reported, by its place in the schedule's results. There until the next step of the turn
  // starts; where the host reaches the arena, until the next step does.
  HeldTensor Result(int entry, size_t result, int turn) const;
  // Where the host does not reach the arena, what it wrote to the inputs' places goes to the device: see InputStage.
  // Else there is nothing to do, and the turn is 0.
  absl::Status WaitUntilInputsSent(int entry);
  absl::StatusOr<int> TakeInputs(int entry);
  // Bytes of the device besides the arena, for an entry point with this schedule.
  static int64_t StageBytes(const Schedule& schedule);
  // Bytes of the host that a rank which lives there copies from its arena while it trains: observed values.
  static int64_t CopiedBytes(const Schedule& training, const SessionOptions& options);

  // The bytes of a state: in the arena if the host can access it, else a copy. kResourceExhausted: the host has no memory
  // for the copy.
  absl::StatusOr<HeldTensor> Fetch(const Placement& state) const;
  // Memory for new bytes of a state, which the caller fills and passes to Store: the state itself if the host can access
  // the arena, else zeros. Errors as of Fetch.
  absl::StatusOr<HeldTensor> NewBytes(const Placement& state) const;
  // Every writer of a state must call it; also updates the state's bf16 copy, if it has one (Schedule::rounded).
  absl::Status Store(const Placement& state, const HeldTensor& bytes) const;
  // The observed bytes of a value of an entry point.
  HeldTensor ObservedPart(int entry, ValueId value) const;

  // An executor of an entry point that looks at every value (ExecutorOptions::check_finite). Only where the host
  // reaches the arena.
  absl::StatusOr<std::unique_ptr<Executor>> MakeDiagnosis(int entry);

  void SetRecording(bool on);
  std::vector<Span> Spans(int entry) const;

 private:
  RankRuntime(RankParts parts, const SessionOptions& options);
  absl::Status Build(const SessionOptions& options);
  absl::Status CreateCommunicators();
  // Ranks of a process are made one after the other, so each has the threads of all.
  absl::Status InitializeStates(uint64_t seed, int64_t threads);
  absl::Status StoreRounded(const HeldTensor& bytes, const Placement& rounded) const;
  ExecutorBinding Binding() const;
  ExecutorBinding BindingOf(int entry) const;
  absl::StatusOr<std::unique_ptr<InputStage>> MakeStage(const Schedule& schedule) const;
  const Schedule& schedule(int entry) const { return *schedules_[entry]; }
  InputStage* stage(int entry) const { return inputs_.empty() ? nullptr : inputs_[entry].get(); }
  char* InArena(const Placement& placement) const { return static_cast<char*>(arena_->data()) + placement.offset; }
  ExecutorRank MemberOf(int entry, const SessionOptions& options) const;

  const int rank_;
  const int places_;
  const std::vector<const Schedule*> schedules_;  // by entry point, as the next two
  const Program* const program_;
  const KernelLibrary* const kernels_;
  World* const world_;
  const uint64_t seed_;
  const std::unique_ptr<HostDevice> own_device_;
  Device* const device_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<HostReach> reach_;  // inputs
  std::unique_ptr<MemoryCheck> memory_check_;
  std::vector<std::unique_ptr<Communicator>> communicators_;  // by group id; null: no member
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<HostTransfer> transfer_;           // of states, on the first stream; null: the host reaches the arena
  std::vector<std::unique_ptr<InputStage>> inputs_;  // as the next, by entry point; empty: the host reaches the arena
  std::vector<std::unique_ptr<ResultPlaces>> results_;
  std::vector<std::shared_ptr<Executor>> executors_;
  int place_ = 0;  // among the ranks of the executors
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_RANK_RUNTIME_H_
