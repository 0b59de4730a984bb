// The launches of one rank, bound to a device and enqueued one after the other in program order, with their streams,
// waits and observers. The executor decides when a walk continues.
#ifndef PARTITA_RUNTIME_EXEC_RANK_WALK_H_
#define PARTITA_RUNTIME_EXEC_RANK_WALK_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/exec/watch.h"

namespace partita {

// Thread-compatible.
class RankWalk {
 public:
  // `tags_before`: launch l has the tag tags_before + l.
  static absl::StatusOr<std::unique_ptr<RankWalk>> Create(const ExecutorRank& rank, int32_t tags_before);

  // What the schedule uses of the binding's.
  std::span<Stream* const> streams() const;

  // Groups with a collective in the schedule.
  const std::set<int>& groups() const { return groups_; }

  // Places from which steps take their inputs, at least 1.
  int turns() const { return std::max(1, static_cast<int>(rank_.binding.at_start.size())); }

  // Enqueues what a step of that turn begins with; then the first launch is the next one.
  absl::Status Begin(int turn);
  // The group of the next launch if that is a collective, else -1.
  int NextGroup() const;
  bool done() const { return next_ == launches(); }
  // Enqueues the next launch. Its kernel is made in the first walk. If the launch is a collective, FinishCollective
  // must follow once all members on this device have advanced; it enqueues what comes behind the collective.
  absl::Status Advance();
  absl::Status FinishCollective();
  // Enqueues what the step ends with.
  absl::Status End(int turn);

  // On the host, before the walk or its replay starts.
  void RunAtStart();

  // After a step of that turn: what the first kernel, in program order, found wrong with its data.
  absl::Status FirstFault(int turn);
  // While no step runs: forgets what kernels found wrong.
  absl::Status ClearWords();

  const void* Observed(ValueId value) const;
  ValueId FirstNonFinite() const;
  int32_t launches() const { return static_cast<int32_t>(kernels_.size()); }

 private:
  struct Watched {
    ValueId value = kNoValue;
    int launch = -1;  // -1: before the step
    Watch watch;
  };

  RankWalk(const ExecutorRank& rank, int32_t tags_before);
  bool OnDevice(int launch) const;
  bool OnHostAtStart() const { return device().host_addressable(); }
  Device& device() const { return *rank_.binding.device; }
  // Of the launches, and one more: KernelArguments::refused.
  uint64_t* Words() { return words_ == nullptr ? own_words_.data() : static_cast<uint64_t*>(words_->data()); }
  int64_t FaultBytes() const { return launches() * static_cast<int64_t>(sizeof(uint64_t)); }
  // Those of the launches, as they were when the last step of that turn ended.
  uint64_t* FaultsSeen(int turn) {
    return words_ == nullptr ? own_words_.data() : static_cast<uint64_t*>(faults_seen_->data()) + turn * launches();
  }
  absl::Status AllocateWords();
  void PlanWaits();
  absl::Status PlanWatches();
  absl::Status AddWatch(Watch::Kind kind, ValueId value);
  void AddPoison();
  absl::Status Enqueue(int launch);
  absl::Status EnqueueBehind(int launch);
  absl::Status EnqueueWork(int launch, Stream& stream);
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(int launch);
  absl::Status Record(Stream& stream, std::unique_ptr<Event>& event);
  absl::Status AllWaitFor(Stream& stream);

  const ExecutorRank rank_;
  const Schedule& schedule_;
  const int32_t tags_before_;
  int next_ = 0;
  std::set<int> groups_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // by launch; null: a collective, or not made yet
  std::unique_ptr<Arena> words_, faults_seen_;    // of the device and the host; null: the host is in sight
  std::vector<uint64_t> own_words_;               // where the host is in sight
  std::vector<std::vector<int>> waits_;           // by launch: launches of other streams
  std::vector<bool> waited_for_;
  std::vector<std::unique_ptr<Event>> events_;  // by launch, where it is waited for
  std::unique_ptr<Event> border_;               // of Begin and End

  std::deque<Watched> watched_;  // of values, by launch; addresses are tasks' arguments
  std::deque<Watch> poison_;
  std::vector<std::vector<Watch*>> before_, behind_;  // by launch
  std::vector<Watched*> at_start_;
  std::unordered_map<ValueId, const Watch*> observed_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_RANK_WALK_H_
