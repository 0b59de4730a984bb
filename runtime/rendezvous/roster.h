// The rendezvous without its network: which ranks have joined a job, what they sent, and what to send to each.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_ROSTER_H_
#define PARTITA_RUNTIME_RENDEZVOUS_ROSTER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/rendezvous/rendezvous.pb.h"

namespace partita {

// Thread-compatible. The caller passes times. Messages to ranks are appended to `out`, in order.
class Roster {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Letter {
    int rank = 0;
    rendezvous::ToRank message;
  };
  using Letters = std::vector<Letter>;

  Roster(int ranks, std::chrono::milliseconds timeout) : ranks_(ranks), timeout_(timeout) {}

  // Empty if the rank may join, and then it has; else why not.
  std::string Join(int rank, int ranks, Time now);

  // Of a rank that may not join because it had, and the job has failed: it was started again, and may come to the next
  // rendezvous.
  bool IsStartedAgain(int rank) const { return failed_ && known_.contains(rank); }

  // A rank knows the token but can never join; `why` is the reason. This ends the job that needs the rank, also for
  // ranks that join later. It does not end a job that has already begun with a rank of that number, or that has no such
  // rank.
  void Disagree(int rank, const std::string& why, Letters& out);

  // A message of a rank that has joined, other than its handshake.
  void Receive(int rank, const rendezvous::ToServer& message, Time now, Letters& out);

  // The stream of a rank that had joined has ended.
  void End(int rank, Letters& out);

  // Time passes: barriers end, silent ranks are lost. Returns the silent ones.
  std::vector<int> Tick(Time now, Letters& out);

  bool empty() const { return present_.empty(); }

 private:
  struct BarrierState {
    std::map<int, Time> deadlines;  // by rank that has come
  };

  void Fail(const absl::Status& status, Letters& out);
  std::vector<int> MissingIn(const BarrierState& barrier) const;
  void EndBarrier(const std::string& name, const std::vector<int>& missing, Letters& out);

  const int ranks_;
  const std::chrono::milliseconds timeout_;
  std::map<int, Time> present_;  // rank -> last heard
  std::set<int> known_;          // ranks that have ever joined
  std::set<int> leaving_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::set<int>> waiting_;  // key -> ranks that want it
  std::map<std::string, BarrierState> barriers_;
  bool failed_ = false;
  std::string disagreement_;  // why no rank can join any more
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_ROSTER_H_
