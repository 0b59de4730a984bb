// Processes of a job are told to stop one by one, but must do so after the same step.
#ifndef PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_
#define PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_

#include <algorithm>
#include <atomic>

#include "absl/status/statusor.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"

namespace partita {

// Collective: the largest value of the flag in any process; 0 where `stop` is null. All processes give a flag, or none
// does.
inline absl::StatusOr<int> VoteToStop(const Session& session, const std::atomic<int>* stop) {
  if (stop == nullptr) return 0;
  PackedValues packed;
  packed.Add(stop->load());
  ASSIGN_OR_RETURN(const std::vector<std::string> votes, session.AllGather(packed.bytes()));
  int largest = 0;
  for (const std::string& vote : votes) largest = std::max(largest, PackedReader(vote).Next<int>());
  return largest;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_STOP_VOTE_H_
