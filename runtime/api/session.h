// A program at work: one session per process owns all ranks that live there, and drives them step by step
// (docs/design.md 5.17).
//
// Where the ranks are spread over processes (SessionOptions::job), a rank of another process holds nothing here: its
// parts have no data. Methods said to be collective are called by all processes, in the same order.
//
// It knows no files and no data sets. Before a step the caller writes the rows of each input into the ranks' places; a
// step reports loss and metrics; states are read and written whole. Thread-compatible, but Abort may come from any
// thread. Destroying a session waits for nothing but the step that runs.
#ifndef PARTITA_RUNTIME_API_SESSION_H_
#define PARTITA_RUNTIME_API_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/moves/move_bytes.h"
#include "runtime/api/backend/backend.h"
#include "runtime/api/rank/rank_runtime.h"
#include "runtime/api/rank/session_options.h"

namespace partita {

struct StepResult {
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  // in the order of the graph
};

// Where a step that counts votes (graph/ir/graph.h) has them; empty where it counts none.
struct VotePlacements {
  std::vector<HeldTensor> cast;   // of each rank of this process: to be written before the step as its inputs are
  std::optional<HeldTensor> sum;  // how many ranks want to stop: to be read behind it
};

// What the communicators of a group did since the last ResetCounters.
struct GroupTraffic {
  MoveBytes bytes;    // summed over the ranks
  int64_t calls = 0;  // of the group's first rank
  int64_t waits = 0;  // calls in which a rank had to wait, summed over the ranks
  double wait_seconds = 0;
};

// One launch of the last step.
struct LaunchSpan {
  const Launch* launch = nullptr;  // of Session::schedule
  double begin = 0, end = 0;       // seconds since the step was started on the first rank of this process
};

class Session {
 public:
  // Makes, verifies and binds the schedules of all ranks, and initialises the states.
  // kResourceExhausted: a rank's arena is larger than the limit, or what all ranks of this process need is more than
  // what is free on the GPU or, for this process, on the host (runtime/base/memory.h); no more threads. kInternal: a
  // schedule does not verify. With a GPU see also runtime/api/backend/gpu.h.
  static absl::StatusOr<std::unique_ptr<Session>> Start(Program program, const SessionOptions& options);
  ~Session();

  const Program& program() const { return program_; }
  int ranks() const { return program_.ranks(); }
  const std::vector<int>& local_ranks() const { return local_ranks_; }
  // Whether all ranks live in this process.
  bool alone() const { return static_cast<int>(local_ranks_.size()) == ranks(); }
  // Of the GPU that the ranks of this process live on; empty: they live on the host.
  std::string gpu_name() const { return backend_->gpu() == nullptr ? "" : backend_->gpu()->name(); }
  int threads_per_rank() const { return options_.threads_per_rank; }
  // `entry`: of an entry point that the program has. One that it has not is CHECKed here and where no status is
  // returned, else kInvalidArgument.
  const Graph& graph(std::string_view entry) const { return program_.graph(entry); }
  const Schedule& schedule(std::string_view entry, int rank) const { return schedules_[Place(entry)][rank]; }

  // Where a rank's block of a field is to be written before each step (a step leaves something else there); a block for
  // each micro-batch where the program has them. kInvalidArgument: the entry point has no such input.
  absl::StatusOr<std::vector<HeldTensor>> InputPlacements(std::string_view entry, const std::string& field,
                                                          int rank) const;
  // Writes the whole of an input to all ranks. kInvalidArgument: it has another type or global shape.
  absl::Status StageInput(std::string_view entry, const std::string& field, const ConstTensor& whole);

  absl::StatusOr<VotePlacements> FindVotes(std::string_view entry) const;

  // Writes the rows of the step after this one to their places (InputPlacements, StageInput), and its votes.
  using InputFiller = std::function<absl::Status()>;

  // Collective: one step on all ranks. `next` is called while the step runs if the places can be written then (on a
  // GPU, whose inputs travel by a stream of their own), else when it has ended; after that nobody writes there before
  // the next step of the kind. Its error is returned when the step has ended. kOutOfRange: the loss is not finite or,
  // where a step of training is clipped, the norm of the gradients is not; all states are as they were, and the session
  // goes on. kInvalidArgument: a label is no class; step, node and sample are named. After any error but the first the
  // session is dead and every call returns that error.
  absl::StatusOr<StepResult> Train(const InputFiller& next = nullptr);
  absl::StatusOr<StepResult> Evaluate(const InputFiller& next = nullptr);
  // Collective: looks for where the last step of training went wrong, if it was not applied (kOutOfRange). Its inputs
  // must have been written to their places again. Runs that step once more, changes no state, and returns the step's
  // error with the first value that is not finite; on a GPU, where nobody looks at values, the error alone. OK: the
  // last step was applied.
  absl::Status Diagnose();
  // The values that `predict` computes (ProgramOptions::predictions), whole, in their order.
  absl::StatusOr<std::vector<HostTensor>> Predict(const InputFiller& next = nullptr);

  // The states of the program, in its order; parameters, optimizer slots, running statistics, the iteration.
  std::vector<std::string> StateNames() const;
  bool IsParameter(const std::string& state) const;
  absl::StatusOr<HostTensor> ReadState(const std::string& name) const;  // collective
  // To the ranks of this process. kInvalidArgument: no such state, or another type or shape.
  absl::Status WriteState(const std::string& name, const ConstTensor& tensor);

  // Collective. Whether ranks that hold the same part of a state hold the same bits of it.
  absl::StatusOr<bool> ReplicasEqual(const std::string& state) const;

  // After a training step of a session that observes: a value of the training graph, gathered from the ranks
  // (collective), or as one rank holds it.
  absl::StatusOr<WholeValue> Observed(const std::string& name) const;
  HeldTensor ObservedPart(ValueId value, int rank) const;

  // By group of the program: of the ranks of this process, and (collective) of all.
  std::vector<GroupTraffic> Traffic() const;
  absl::StatusOr<std::vector<GroupTraffic>> JobTraffic() const;
  void ResetCounters();
  // Of one step.
  std::vector<MoveBytes> PredictedBytes(std::string_view entry) const;

  // Of one rank: as planned for the largest of the entry points, and the highest byte that was really touched (of a
  // rank of this process; or, collective, of all).
  const MemoryUse& PlannedMemory(int rank) const;
  int64_t UsedMemory(int rank) const;
  absl::StatusOr<std::vector<int64_t>> JobUsedMemory() const;
  const MemoryCheck& memory_check(int rank) const { return ranks_[rank]->memory_check(); }

  // Spans of the last step of `entry`; empty if it was not recorded or the rank is not here. Recording costs a few
  // nanoseconds a launch.
  void RecordTimeline(bool on);
  std::vector<LaunchSpan> Timeline(std::string_view entry, int rank) const;

  // Collective: what each process says, in the order of their first ranks. kUnavailable: a process is gone.
  absl::StatusOr<std::vector<std::string>> AllGather(const std::string& bytes) const;

  // Ends the step that runs, and the session: collectives that wait return `status`. Any thread, any time.
  void Abort(const absl::Status& status);

 private:
  Session(Program program, const SessionOptions& options);
  absl::Status Build();
  absl::Status OpenBackend();
  absl::Status CheckHostMemory() const;
  absl::Status CheckGpuMemory();
  absl::Status Capture();
  int Place(std::string_view entry) const;
  HeldTensor PartOf(const LocalTensor& tensor, int64_t offset, int rank) const;
  HeldTensor PartOf(const Placement& placement, int rank) const {
    return PartOf(placement.tensor, placement.offset, rank);
  }
  absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Graph& entry) const;
  absl::StatusOr<StepResult> ScalarStep(const absl::StatusOr<int>& entry, const InputFiller& next);
  absl::Status Step(int entry, const InputFiller& next);
  absl::Status TakeStep(int entry, const InputFiller& next);
  absl::StatusOr<int> TakeInputs(int entry);
  absl::Status FillNext(int entry, const InputFiller& next);
  absl::Status RunAll(const std::vector<Executor*>& executors, int turn, const std::function<void()>& meanwhile);
  StepResult ResultOf(int entry) const;
  absl::Status CheckFinite(int entry) const;
  absl::StatusOr<ValueId> FirstNonFinite(int entry);
  absl::StatusOr<HeldTensor> StatePart(const std::string& name, int rank) const;
  const Placement* FindState(const std::string& name, int rank) const;
  absl::StatusOr<std::vector<HeldTensor>> AllParts(std::vector<HeldTensor> parts,
                                                   std::vector<std::string>& storage) const;

  const Program program_;
  // Their places in the program, or what to answer who asks for them.
  const absl::StatusOr<int> train_ = program_.PlaceOf(kTrainEntry);
  const absl::StatusOr<int> evaluate_ = program_.PlaceOf(kEvaluateEntry);
  const absl::StatusOr<int> predict_ = program_.PlaceOf(kPredictEntry);
  SessionOptions options_;
  std::unique_ptr<Backend> backend_;
  std::vector<int> local_ranks_;
  std::vector<std::vector<Schedule>> schedules_;        // by entry point and rank, of all
  std::vector<std::unique_ptr<RankRuntime>> ranks_;     // by rank; null: in another process
  std::vector<std::vector<CommBytes>> counted_before_;  // by rank and group
  std::vector<uint64_t> started_;                       // by local rank, cycles: when the last step was started
  int64_t train_steps_ = 0;
  absl::Status not_applied_;  // the last step of training was not, and why
  absl::Status dead_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_SESSION_H_
