// Runs a program: one session per process owns all ranks that live there, and drives them step by step (docs/design.md
// 5.17).
//
// If the ranks are spread over processes (SessionOptions::job), ranks of other processes have no data here. All
// processes must call collective methods, in the same order.
//
// It knows no files and no data sets. Before a step the caller writes the rows of each input into the ranks' buffers; a
// step reports loss and metrics; states are read and written whole. Thread-compatible, but any thread may call Abort.
// Destroying a session waits only for the steps in flight.
#ifndef PARTITA_RUNTIME_API_SESSION_H_
#define PARTITA_RUNTIME_API_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/moves/move_bytes.h"
#include "graph/timeline/timeline.h"
#include "runtime/api/backend/backend.h"
#include "runtime/api/job/message.h"
#include "runtime/api/rank/rank_runtime.h"
#include "runtime/api/rank/session_options.h"

namespace partita {

class StallWatch;

struct StepResult {
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  // in the order of the graph
  // Of all gradients, before they are clipped; none unless the program reports it (ProgramOptions::gradient_norm).
  std::optional<double> gradient_norm = {};
  // What evaluation reports that are no scalars (ProgramOptions::evaluated), whole, in their order.
  std::vector<HostTensor> values = {};
};

// The traffic of a group's communicators since the last ResetCounters.
struct GroupTraffic {
  MoveBytes bytes;    // summed over the ranks
  int64_t calls = 0;  // of the group's first rank
  int64_t waits = 0;  // calls in which a rank had to wait, summed over the ranks
  double wait_seconds = 0;
};

// A rank's part of a state.
struct RankPart {
  int rank = 0;
  HeldTensor part;
};

// Ranks whose part of a state differs in bits from that of `others`, which are as many or more.
struct ReplicaDivergence {
  std::string state;
  std::vector<int> ranks, others;
};

struct ReplicaCheck {
  std::optional<ReplicaDivergence> first;          // in the order of the states; none: all replicas are equal
  int64_t predicted_bytes = 0, counted_bytes = 0;  // received by this process from others
};

class Session {
 public:
  // Makes and verifies the schedules of all kinds of ranks (graph/alike), binds those of this process's ranks, and
  // initialises the states. kResourceExhausted: a rank's
  // arena is larger than the limit, or all ranks of this process need more than is free on the GPU or, for this
  // process, on the host (runtime/base/memory.h); or no more threads. kInternal: a schedule does not verify. With a GPU
  // see also runtime/api/backend/gpu.h.
  static absl::StatusOr<std::unique_ptr<Session>> Start(Program program, const SessionOptions& options);
  ~Session();

  const Program& program() const { return program_; }
  int ranks() const { return program_.ranks(); }
  const std::vector<int>& local_ranks() const { return local_ranks_; }
  // Whether all ranks live in this process.
  bool alone() const { return static_cast<int>(local_ranks_.size()) == ranks(); }
  // The name of the GPU of this process's ranks; empty: they live on the host.
  std::string gpu_name() const { return backend_->gpu() == nullptr ? "" : backend_->gpu()->name(); }
  int threads_per_rank() const { return options_.threads_per_rank; }
  // `entry`: the name of an entry point of the program. An unknown one fails a CHECK here and in methods without a
  // status; others return kInvalidArgument.
  const Graph& graph(std::string_view entry) const { return program_.graph(entry); }
  // `rank`: of this process (CHECKed).
  const Schedule& schedule(std::string_view entry, int rank) const { return ScheduleOf(Place(entry), rank); }
  // By index in local_ranks().
  const std::vector<Schedule>& schedules(std::string_view entry) const { return schedules_[Place(entry)]; }
  // By rank, of all processes, where alike ranks share one: the session does not keep those of other processes, so they
  // are made again, in `storage`, which must outlive the result.
  absl::StatusOr<std::vector<const Schedule*>> AllSchedules(std::string_view entry, FoldedSchedules& storage) const;

  // `rank`: of this process (CHECKed). The buffers for each rank's block of a field, one for each micro-batch. Write
  // them before each step, because a step overwrites them; while a step is in flight, only within an InputFiller.
  // kInvalidArgument: the entry point has no such input.
  absl::StatusOr<std::vector<HeldTensor>> InputPlacements(std::string_view entry, const std::string& field,
                                                          int rank) const;
  // Writes a whole input to all ranks. kInvalidArgument: it has another type or global shape.
  absl::Status StageInput(std::string_view entry, const std::string& field, const ConstTensor& whole);

  // The buffers for the votes of this process's ranks in a step that counts votes (graph/ir/graph.h), written like its
  // inputs. Empty: the step counts none.
  absl::StatusOr<std::vector<HeldTensor>> VotePlacements(std::string_view entry) const;
  // The number of votes in the last finished step; none if it counted none.
  std::optional<double> votes() const { return votes_; }

  // Sets the number of training steps before this session, from which errors count on. No step may be in flight.
  void NumberStepsFrom(int64_t done) { train_steps_ = done; }

  // Collective: one step on all ranks with the inputs that lie in their places. Errors that leave all states as they
  // were, and the session as good as before:
  //   kOutOfRange          the loss is not finite or, where a step of training is clipped, the norm of the gradients
  //   kInvalidArgument     a label, an id or a length is out of range; the message names step, node and sample
  //   kFailedPrecondition  a step is in flight
  // After any other error (a lost peer, a device that failed) every later call returns that error.
  absl::StatusOr<StepResult> Train();
  absl::StatusOr<StepResult> Evaluate();
  // The values that `predict` computes (ProgramOptions::predictions), whole, in their order.
  absl::StatusOr<std::vector<HostTensor>> Predict();
  // The results (ModelEntry) of an entry point that neither trains nor evaluates. kInvalidArgument: it does.
  absl::StatusOr<std::vector<HostTensor>> Compute(std::string_view entry);

  // Writes the rows of a step to their buffers (InputPlacements, StageInput), and its votes.
  using InputFiller = std::function<absl::Status()>;

  // The same steps in two calls each, with two in flight, so that a GPU need not wait for the host (docs/design.md
  // 5.26):
  //
  //   Begin(entry, fill)                                    of step 0
  //   Begin(entry, fill), Finish(), while batches remain    of step n+1, and of step n
  //   Finish()                                              of the last one
  //
  // Begin starts a step after the one in flight. `fill` writes its inputs while that one runs if the buffers allow it
  // (on a GPU, which copies inputs on a separate stream), else after it has ended. Finish waits for the older step and
  // returns its results or one of the errors above. After a step that was not applied, no step in flight is applied. A
  // step may follow one of another size of the graph (graph/ir/entry_point.h), which ends first. After an error, also
  // one of `fill`, no step is in flight: they have ended, and their results are lost. kFailedPrecondition, which
  // changes nothing: Begin with two steps in flight or with one of another use (training, evaluation, an entry point
  // with results); Finish with none; and every method that reads or writes states, observed values or counters while a
  // step is in flight.
  absl::Status Begin(std::string_view entry, const InputFiller& fill);
  // For training or evaluation. Results of an evaluation step may be non-finite: the caller decides whether they count.
  absl::StatusOr<StepResult> Finish();
  absl::StatusOr<std::vector<HostTensor>> FinishPrediction();  // for all other entry points

  // Collective: finds where the last training step went wrong, if it was not applied (kOutOfRange). The caller must
  // have written its inputs again. Runs that step once more, changes no state, and returns the step's error with the
  // first value that is not finite; on a GPU, where values are not observed, only the error. OK: the last step was
  // applied.
  absl::Status Diagnose();

  // The states of the program, in its order; parameters, optimizer slots, running statistics, the iteration.
  std::vector<std::string> StateNames() const;
  bool IsParameter(const std::string& state) const;
  absl::StatusOr<HostTensor> ReadState(const std::string& name) const;  // collective
  // Writes to the ranks of this process. kInvalidArgument: no such state, or another type or shape.
  absl::Status WriteState(const std::string& name, const ConstTensor& tensor);

  // The same without making a state whole. Not collective. By rank, the parts of which a rank of this process holds the
  // first replica; the parts of all processes together tile the state. Parts that are not copies (HeldTensor::memory)
  // stay valid until a step begins.
  absl::StatusOr<std::vector<RankPart>> OwnParts(const std::string& state) const;
  // `fill` writes the parts of it that the ranks of this process hold. Returns kInvalidArgument for an unknown state,
  // or the error of `fill`.
  using PartFiller = std::function<absl::Status(std::span<const HeldTensor> parts)>;
  absl::Status FillState(const std::string& state, const PartFiller& fill);

  // Collective. Whether ranks that hold the same part of a state hold bitwise identical values.
  absl::StatusOr<bool> ReplicasEqual(const std::string& state) const;
  // Collective. The same of all states, by hashes of what ranks hold.
  absl::StatusOr<ReplicaCheck> CheckReplicas() const;

  // After a training step of a session that observes: a value of the training graph, gathered from the ranks
  // (collective), or as one rank holds it.
  absl::StatusOr<WholeValue> Observed(const std::string& name) const;
  HeldTensor ObservedPart(ValueId value, int rank) const;

  // For each group of the program: the traffic of this process's ranks, and (collective) of all ranks. Only while no
  // step is in flight.
  std::vector<GroupTraffic> Traffic() const;
  absl::StatusOr<std::vector<GroupTraffic>> JobTraffic() const;
  void ResetCounters();
  // For one step.
  std::vector<MoveBytes> PredictedBytes(std::string_view entry) const;

  // For one rank: the planned memory of the largest entry point, and the highest byte really touched (of a rank of this
  // process; or, collective, of all).
  const MemoryUse& PlannedMemory(int rank) const;
  int64_t UsedMemory(int rank) const;
  absl::StatusOr<std::vector<int64_t>> JobUsedMemory() const;
  const MemoryCheck& memory_check(int rank) const { return ranks_[rank]->memory_check(); }

  // The spans of the last step of `entry`, relative to its start on the first rank of this process; empty if it was not
  // recorded or the rank is not here. Only while no step is in flight. Recording costs a few nanoseconds a launch.
  void RecordTimeline(bool on);
  bool records_timeline() const { return records_timeline_; }
  std::vector<LaunchSpan> Timeline(std::string_view entry, int rank) const;

  // Collective: the message of each process, in the order of their first ranks (Job::AllGather). kUnavailable: a
  // process is gone, or sends another kind of message.
  absl::StatusOr<std::vector<std::string>> AllGather(const Message& message) const;

  // Ends the steps in flight and the session: waiting collectives return `status`. Any thread may call it at any time.
  void Abort(const absl::Status& status);

  // The last collectives of this process's ranks; empty: not recorded (World::recorder). Any thread.
  std::vector<FlightRecord> FlightRecords() const;

 private:
  Session(Program program, const SessionOptions& options);
  absl::Status Build();
  absl::Status OpenBackend();
  absl::Status CheckHostMemory() const;
  absl::Status CheckGpuMemory();
  absl::Status Capture();
  absl::Status WatchForStalls();
  int Place(std::string_view entry) const;
  HeldTensor PartOf(const LocalTensor& tensor, int64_t offset, int rank) const;
  absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Graph& entry);
  // A step between Begin and Finish.
  struct StepInFlight {
    int entry = 0;
    int turn = 0;
    int64_t number = 0;                  // of the training steps
    std::vector<std::string> kept = {};  // the bytes of CarriedStates before it
  };
  // The results of a step that has ended.
  struct Outcome {
    absl::Status status;
    bool not_finite = false;  // the loss or the norm of the gradients, equal on all ranks
    StepResult result;
    std::vector<HostTensor> predictions;
    std::optional<double> votes;
  };

  absl::Status CheckIdle(const char* what) const;
  absl::Status BeginAlone(const absl::StatusOr<int>& entry);
  absl::Status BeginStep(int entry, const InputFiller& fill);
  absl::Status FillInputs(int entry, const InputFiller& fill);
  absl::StatusOr<int> TakeInputs(int entry);
  absl::Status StartAll(std::span<Executor* const> executors, int turn);
  absl::Status WaitForAll(std::span<Executor* const> executors);
  absl::StatusOr<Outcome> FinishStep();
  absl::StatusOr<Outcome> TakeOldest();
  absl::Status WithWrongDataOfAll(const absl::Status& own);
  struct CarriedState {
    int rank = 0;
    const Placement* placement = nullptr;
  };
  std::vector<CarriedState> CarriedStates(int entry) const;
  absl::StatusOr<std::vector<std::string>> KeepStates(int entry) const;
  absl::Status PutBack(const StepInFlight& step);
  Outcome EndOldest();
  void ReadResults(const StepInFlight& step, Outcome& outcome) const;
  void Drain();
  absl::Status DieIfExhausted(const absl::Status& status);
  HeldTensor ResultPart(const StepInFlight& step, size_t result) const;
  bool IsTraining(int entry) const { return IsUse(program_.entries[entry].name, kTrainEntry); }
  bool IsPrediction(int entry) const {
    return !IsTraining(entry) && !IsUse(program_.entries[entry].name, kEvaluateEntry);
  }
  bool SameUse(int entry, int other) const;
  std::string NameOf(const StepInFlight& step) const;
  absl::Status CheckFinite(const StepInFlight& step) const;
  absl::StatusOr<ValueId> FirstNonFinite(int entry);
  absl::StatusOr<HeldTensor> StatePart(const std::string& name, int rank) const;
  const Placement* FindState(const std::string& name, int rank) const;
  size_t PlaceOfRank(int rank) const;
  const Schedule& ScheduleOf(int entry, int rank) const { return schedules_[entry][PlaceOfRank(rank)]; }
  absl::StatusOr<std::vector<HeldTensor>> AllParts(std::vector<HeldTensor> parts,
                                                   std::vector<std::string>& storage) const;

  const Program program_;
  // Their indices in the program, or the error for callers that ask for them.
  const absl::StatusOr<int> train_ = program_.PlaceOf(kTrainEntry);
  const absl::StatusOr<int> evaluate_ = program_.PlaceOf(kEvaluateEntry);
  const absl::StatusOr<int> predict_ = program_.PlaceOf(kPredictEntry);
  SessionOptions options_;
  std::unique_ptr<Backend> backend_;
  std::vector<int> local_ranks_;
  std::vector<std::vector<Schedule>> schedules_;        // by entry point and index in local_ranks_
  std::vector<MemoryUse> planned_;                      // by rank, of all processes: its largest arena
  std::vector<std::unique_ptr<RankRuntime>> ranks_;     // by rank; null: in another process
  std::vector<std::vector<Executor*>> executors_;       // by entry point: those that run a step of it
  std::vector<std::vector<CommBytes>> counted_before_;  // by rank and group; none of other processes' ranks
  std::vector<uint64_t> started_;                       // by local rank, cycles: when the last step was started
  bool records_timeline_ = false;
  std::vector<StepInFlight> in_flight_;  // oldest first
  std::optional<Outcome> ended_;         // results of the oldest, if it has already ended
  std::optional<double> votes_;
  int64_t train_steps_ = 0;   // steps begun
  absl::Status not_applied_;  // why the last training step was not applied
  int not_applied_entry_ = 0;
  absl::Status dead_;
  std::unique_ptr<StallWatch> stall_watch_;  // null: no detection; declared last because it reads all members above
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_SESSION_H_
