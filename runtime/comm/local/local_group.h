// A group of ranks in one process: does all the waiting, matching and aborting of local collectives.
//
// The last rank to arrive at a collective finds the calls of all others, and begins to copy and reduce. The work of
// each rank is cut into parts; ranks that wake take unstarted parts, so that no rank waits for one that is still
// asleep. The last rank does small work alone: one hand-over between threads costs more than tens of kilobytes.
//
// Ranks with a core each arrive at most collectives within less time than a thread takes to block and wake up. So a
// waiting rank first spins for that time without the lock, and only then blocks.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_GROUP_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_GROUP_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/local/local_call.h"

namespace partita {

// Thread-safe.
class LocalGroup {
 public:
  // `abort_world` is called, without any lock held, with the error of a mismatch, or of a wait for peers that was
  // longer than `longest_wait`. Waiting ranks spin for `spin` before blocking.
  LocalGroup(int id, std::vector<int> ranks, std::chrono::microseconds spin, std::chrono::milliseconds longest_wait,
             std::function<void(const absl::Status&)> abort_world);

  const std::vector<int>& ranks() const { return ranks_; }

  // False if the rank has joined already.
  bool Join(int rank);

  // Runs the call's rank's part; blocks until no peer touches its buffers any more, also when it fails.
  absl::Status Run(LocalCall& call);

  // Ranks that wait now or later get `status`. The first one counts.
  void Abort(const absl::Status& status);

 private:
  using Lock = std::unique_lock<std::mutex>;

  absl::Status RunCollective(LocalCall& call, Lock& lock);
  void BeginRound();
  void EndRound();
  bool DoPart(LocalCall& worker, Lock& lock);
  bool IsSmall() const;

  absl::Status Post(LocalCall& call);
  absl::Status MatchCollective(const LocalCall& call);
  absl::Status Mismatch(const LocalCall& a, const LocalCall& b, const std::string& why) const;
  absl::Status Leave(LocalCall& call, Lock& lock);
  void EndCopying();
  void GiveUp(const LocalCall& call);
  void Notify();
  template <typename Condition>
  bool Spin(Lock& lock, Condition condition);
  template <typename Condition>
  void WaitUntil(LocalCall& call, Lock& lock, Condition condition);

  const int id_;
  const std::vector<int> ranks_;  // world ranks, in group order
  const std::chrono::microseconds spin_;
  const std::chrono::milliseconds longest_wait_;
  const std::function<void(const absl::Status&)> abort_world_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> changes_{0};  // how often it was notified, for those that do not sleep yet
  std::vector<bool> joined_;
  std::vector<int64_t> sequences_;  // calls so far, by rank
  std::vector<LocalCall*> posted_;  // the calls under way, by rank
  int arrived_ = 0;                 // ranks that have come to the present collective
  uint64_t round_ = 0;              // collectives that have ended
  int parts_ = 0;                   // into which the work of each rank is cut; 0: not all have come
  int undone_ = 0;                  // parts of all ranks that have not ended
  int copying_ = 0;                 // parts that touch buffers now; an aborted call returns only when it is 0
  absl::Status aborted_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_GROUP_H_
