// Makes processes of a job stop after the same step, although they receive the signal one by one.
#ifndef PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_
#define PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"

namespace partita {

// Collective, outside of steps: the largest value of the flag in any process; 0 where `stop` is null. All processes
// give a flag, or none does.
absl::StatusOr<int> VoteToStop(const Session& session, const std::atomic<int>* stop);

// The same in the steps of an entry point. Where its program counts votes (graph/derive/count_votes.h), they travel in
// what the step adds up anyway, and processes talk beside it only to hear what to stop for. Where it does not, they
// talk after each step; a process that is alone asks itself.
//
// Thread-compatible; the session must outlive it.
class StopVote {
 public:
  // In the steps of one use, of all sizes (graph/ir/entry_point.h). kInvalidArgument: the program has no such entry
  // point.
  static absl::StatusOr<StopVote> Create(const Session& session, std::string_view use, const std::atomic<int>* stop);

  // Where the inputs of a step of `entry` are written: what this process says in it.
  void Cast(std::string_view entry) const;

  // Collective, after the step's results have been taken (Session::Finish): the largest value of the flag in any
  // process; 0: continue.
  absl::StatusOr<int> Outcome() const;

 private:
  using Places = std::map<std::string, std::vector<HeldTensor>, std::less<>>;  // by entry point

  StopVote(const Session& session, const std::atomic<int>* stop, Places cast)
      : session_(&session), stop_(stop), cast_(std::move(cast)) {}

  const Session* session_;
  const std::atomic<int>* stop_;
  Places cast_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_
