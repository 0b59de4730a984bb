#include "runtime/comm/local/local_group.h"

#include <fmt/ranges.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

// Bytes up to which the rank that came last does the work of all: those of all inputs.
// Waking a rank takes 10 to 25 us on a small virtual machine, in which one thread copies some 200 KiB.
constexpr int64_t kSmallBytes = 128 << 10;

// What a core is to do between two looks at a number that another one changes, for the sake of both.
void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

LocalGroup::LocalGroup(int id, std::vector<int> ranks, std::chrono::microseconds spin,
                       std::chrono::milliseconds longest_wait, std::function<void(const absl::Status&)> abort_world)
    : id_(id),
      ranks_(std::move(ranks)),
      spin_(spin),
      longest_wait_(longest_wait),
      abort_world_(std::move(abort_world)),
      joined_(ranks_.size()),
      sequences_(ranks_.size()),
      posted_(ranks_.size()) {}

bool LocalGroup::Join(int rank) {
  std::lock_guard lock(mutex_);
  if (joined_[rank]) return false;
  joined_[rank] = true;
  return true;
}

void LocalGroup::Abort(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = status;
  Notify();
}

absl::Status LocalGroup::Run(LocalCall& call) {
  CopyOwn(call);
  Lock lock(mutex_);
  absl::Status status = Post(call);
  const bool mismatch = !status.ok() && aborted_.ok();
  if (mismatch) {
    aborted_ = status;
    Notify();
  }
  if (status.ok()) status = RunCollective(call, lock);
  lock.unlock();
  if (!status.ok()) abort_world_(status);
  return status;
}

absl::Status LocalGroup::Post(LocalCall& call) {
  call.sequence = ++sequences_[call.rank];
  if (!aborted_.ok()) return aborted_;
  if (posted_[call.rank] != nullptr) return Mismatch(call, *posted_[call.rank], "one rank runs two calls at a time");
  RETURN_IF_ERROR(MatchCollective(call));
  posted_[call.rank] = &call;
  return absl::OkStatus();
}

// Ranks wait for each other in different operations: an error now, as nobody would ever wake.
absl::Status LocalGroup::MatchCollective(const LocalCall& call) {
  for (LocalCall* peer : posted_) {
    if (peer == nullptr) continue;
    const std::string why = FindMismatch(call, *peer);
    if (!why.empty()) return Mismatch(call, *peer, why);
  }
  return absl::OkStatus();
}

absl::Status LocalGroup::Mismatch(const LocalCall& a, const LocalCall& b, const std::string& why) const {
  return absl::InternalError(MismatchMessage(id_, why, {ranks_[a.rank], a.Describe(), a.sequence},
                                             {ranks_[b.rank], b.Describe(), b.sequence}));
}

absl::Status LocalGroup::RunCollective(LocalCall& call, Lock& lock) {
  const uint64_t round = round_;
  if (++arrived_ == static_cast<int>(posted_.size())) BeginRound();
  WaitUntil(call, lock, [&] { return parts_ > 0 || round_ != round || !aborted_.ok(); });
  while (round_ == round && aborted_.ok()) {
    if (DoPart(call, lock)) continue;
    WaitUntil(call, lock, [&] { return round_ != round || !aborted_.ok(); });
  }
  return round_ != round ? absl::OkStatus() : Leave(call, lock);
}

bool LocalGroup::IsSmall() const {
  int64_t bytes = 0;
  for (const LocalCall* call : posted_) bytes += call->bytes;
  return bytes <= kSmallBytes;
}

// All are here. The one that came last starts at once; the others join in as they wake, if it is worth it.
void LocalGroup::BeginRound() {
  parts_ = PartsOf(posted_);
  undone_ = parts_ * static_cast<int>(posted_.size());
  for (LocalCall* call : posted_) call->taken = 0;
  if (!IsSmall()) Notify();
}

void LocalGroup::EndRound() {
  std::ranges::fill(posted_, nullptr);
  arrived_ = 0;
  parts_ = 0;
  ++round_;
  Notify();
}

// A part of the rank's own work, or of another's if that is all begun. False: there is none left to begin.
bool LocalGroup::DoPart(LocalCall& worker, Lock& lock) {
  LocalCall* owner = nullptr;
  for (size_t r = 0; r < posted_.size() && owner == nullptr; ++r) {
    LocalCall* const candidate = posted_[(static_cast<size_t>(worker.rank) + r) % posted_.size()];
    if (candidate->taken < parts_) owner = candidate;
  }
  if (owner == nullptr) return false;
  const int part = owner->taken++;
  ++copying_;
  lock.unlock();
  const PartBytes bytes = RunPart(part, parts_, *owner, worker, posted_);
  lock.lock();
  EndCopying();
  for (LocalCall* call : posted_) call->wire += call == owner ? bytes.own : bytes.each_peer;
  if (--undone_ == 0) EndRound();
  return true;
}

absl::Status LocalGroup::Leave(LocalCall& call, Lock& lock) {
  WaitUntil(call, lock, [&] { return copying_ == 0; });
  posted_[call.rank] = nullptr;
  return aborted_;
}

void LocalGroup::EndCopying() {
  if (--copying_ == 0 && !aborted_.ok()) Notify();
}

void LocalGroup::GiveUp(const LocalCall& call) {
  if (!aborted_.ok()) return;
  std::vector<int> missing;
  for (size_t r = 0; r < posted_.size(); ++r) {
    if (posted_[r] == nullptr) missing.push_back(ranks_[r]);
  }
  aborted_ = Unavailable(
      "group {}: rank {} has waited in {} (sequence number {}) for {} ms, and the ranks [{}] did not come", id_,
      ranks_[call.rank], call.Describe(), call.sequence, longest_wait_.count(), fmt::join(missing, ","));
  Notify();
}

void LocalGroup::Notify() {
  changes_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

// False: the time is over. The count of changes is read under the lock, so that none is missed between the condition
// and the look-out for the next.
template <typename Condition>
bool LocalGroup::Spin(Lock& lock, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + spin_;
  while (std::chrono::steady_clock::now() < end) {
    const uint32_t seen = changes_.load(std::memory_order_relaxed);
    lock.unlock();
    while (changes_.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < end) Pause();
    lock.lock();
    if (condition()) return true;
  }
  return false;
}

// What a peer's thread copies now cannot be given up.
template <typename Condition>
void LocalGroup::WaitUntil(LocalCall& call, Lock& lock, Condition condition) {
  if (condition()) return;
  const uint64_t begin = ReadCycles();
  call.SetWaiting(true);
  if (!Spin(lock, condition) && !changed_.wait_for(lock, longest_wait_, condition)) {
    GiveUp(call);
    changed_.wait(lock, condition);
  }
  call.SetWaiting(false);
  call.waited += ReadCycles() - begin;
}

}  // namespace partita
