// One rank of a session: its device, streams, arena, communicators and the executors of both entry points.
#ifndef PARTITA_RUNTIME_API_RANK_RUNTIME_H_
#define PARTITA_RUNTIME_API_RANK_RUNTIME_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/schedule.h"
#include "runtime/api/gather.h"
#include "runtime/api/session_options.h"
#include "runtime/comm/world.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/span_recorder.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/memory_check.h"

namespace partita {

enum class Entry : uint8_t { kTrain, kEvaluate };

// What a rank is made from.
struct RankParts {
  int rank = 0;
  // These outlive the rank.
  const Schedule* train = nullptr;
  const Schedule* evaluate = nullptr;
  const Program* program = nullptr;
  const KernelLibrary* kernels = nullptr;
  World* world = nullptr;
  std::function<void(const absl::Status&)> on_failure;  // HostDeviceOptions
};

// Thread-compatible.
class RankRuntime {
 public:
  // Allocates the arena, initialises the states, creates communicators in the order of the program and captures.
  static absl::StatusOr<std::unique_ptr<RankRuntime>> Create(RankParts parts, const SessionOptions& options);
  ~RankRuntime();

  Executor& executor(Entry entry) { return entry == Entry::kTrain ? *train_executor_ : *evaluate_executor_; }
  const std::vector<std::unique_ptr<Communicator>>& communicators() const { return communicators_; }
  const MemoryCheck& memory_check() const { return *memory_check_; }
  MemoryCheck& memory_check() { return *memory_check_; }

  // The bytes of a placement of one of the two schedules.
  HeldPart PartOf(const Placement& placement) const;
  // The observed bytes of a value of the training graph.
  HeldPart ObservedPart(ValueId value) const;

  // Remembers states and training inputs as they are now, and puts them back.
  void TakeSnapshot();
  void RestoreSnapshot();

  // An executor of the training schedule that looks at every value (ExecutorOptions::check_finite).
  absl::StatusOr<std::unique_ptr<Executor>> MakeDiagnosis();

  void SetRecording(bool on);
  const SpanRecorder& recorder(Entry entry) const { return entry == Entry::kTrain ? train_spans_ : evaluate_spans_; }

 private:
  RankRuntime(RankParts parts, const SessionOptions& options);
  absl::Status Build(const SessionOptions& options);
  absl::Status CreateCommunicators();
  absl::Status InitializeStates(uint64_t seed);
  ExecutorBinding Binding(uint64_t seed) const;

  const int rank_;
  const Schedule &train_, &evaluate_;
  const Program* const program_;
  const KernelLibrary* const kernels_;
  World* const world_;
  const uint64_t seed_;
  HostDevice device_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<MemoryCheck> memory_check_;
  std::vector<std::unique_ptr<Communicator>> communicators_;  // by group id; null: no member
  std::vector<std::unique_ptr<Stream>> streams_;
  SpanRecorder train_spans_, evaluate_spans_;
  std::unique_ptr<Executor> train_executor_, evaluate_executor_;
  std::vector<char> snapshot_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_RUNTIME_H_
