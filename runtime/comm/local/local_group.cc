#include "runtime/comm/local/local_group.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

// Bytes of all inputs together up to which the last rank does the work of all. Waking a rank costs 10 to 25 us on a
// small virtual machine, in which one thread copies some 200 KiB.
constexpr int64_t kSmallBytes = 128 << 10;

}  // namespace

LocalGroup::LocalGroup(int id, std::vector<int> ranks, std::function<void(const absl::Status&)> abort_world)
    : id_(id),
      ranks_(std::move(ranks)),
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
  changed_.notify_all();
}

absl::Status LocalGroup::Run(LocalCall& call) {
  Lock lock(mutex_);
  absl::Status status = Post(call);
  const bool mismatch = !status.ok() && aborted_.ok();
  if (mismatch) {
    aborted_ = status;
    changed_.notify_all();
  }
  if (status.ok()) {
    status = call.operation == CommOperation::kSendReceive ? RunPairs(call, lock) : RunCollective(call, lock);
  }
  lock.unlock();
  if (!status.ok()) abort_world_(status);
  return status;
}

absl::Status LocalGroup::Post(LocalCall& call) {
  call.sequence = ++sequences_[call.rank];
  if (!aborted_.ok()) return aborted_;
  if (posted_[call.rank] != nullptr) return Mismatch(call, *posted_[call.rank], "one rank runs two calls at a time");
  if (call.operation != CommOperation::kSendReceive) RETURN_IF_ERROR(MatchCollective(call));
  posted_[call.rank] = &call;
  return absl::OkStatus();
}

// Ranks wait for each other in different operations: an error now, as nobody would ever wake.
absl::Status LocalGroup::MatchCollective(const LocalCall& call) {
  for (LocalCall* peer : posted_) {
    if (peer == nullptr) continue;
    if (peer->operation == CommOperation::kSendReceive) {
      const HostPair* const pair = peer->FindPair(call.rank);
      if (pair != nullptr && !pair->met) return Mismatch(call, *peer, "different operations");
      continue;
    }
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
  const bool last = arrived_ + 1 == static_cast<int>(posted_.size());
  if (last && IsSmall()) {
    RunAllPhases();
    return absl::OkStatus();
  }
  if (last) done_by_last_ = false;
  RETURN_IF_ERROR(Barrier(call, static_cast<int>(posted_.size()), lock));
  return done_by_last_ ? absl::OkStatus() : RunOwnPhases(call, lock);
}

bool LocalGroup::IsSmall() const {
  int64_t bytes = 0;
  for (const LocalCall* call : posted_) bytes += std::max(call->in.bytes(), call->out.bytes());
  return bytes <= kSmallBytes;
}

// The mutex stays locked: all ranks are here, and nobody else needs it but to abort.
void LocalGroup::RunAllPhases() {
  const int phases = Phases(posted_[0]->operation);
  for (int phase = 0; phase < phases; ++phase) {
    for (LocalCall* call : posted_) RunPhase(phase, *call, posted_);
  }
  std::ranges::fill(posted_, nullptr);
  arrived_ = 0;
  done_by_last_ = true;
  ++round_;
  changed_.notify_all();
}

absl::Status LocalGroup::RunOwnPhases(LocalCall& call, Lock& lock) {
  const int phases = Phases(call.operation);
  for (int phase = 0; phase < phases; ++phase) {
    lock.unlock();
    RunPhase(phase, call, posted_);
    lock.lock();
    EndCopying(1);
    const bool last = phase + 1 == phases;
    RETURN_IF_ERROR(Barrier(call, last ? 0 : static_cast<int>(posted_.size()), lock));
  }
  return absl::OkStatus();
}

// The last rank lets all pass, `copying_next` of which will touch peers' buffers; 0 ends the collective.
absl::Status LocalGroup::Barrier(LocalCall& call, int copying_next, Lock& lock) {
  if (!aborted_.ok()) return Leave(call, lock);
  if (++arrived_ == static_cast<int>(posted_.size())) {
    arrived_ = 0;
    copying_ = copying_next;
    if (copying_next == 0) std::ranges::fill(posted_, nullptr);
    ++round_;
    changed_.notify_all();
    return absl::OkStatus();
  }
  const uint64_t round = round_;
  WaitUntil(call, lock, [&] { return round_ != round || !aborted_.ok(); });
  return round_ != round ? absl::OkStatus() : Leave(call, lock);
}

absl::Status LocalGroup::Leave(LocalCall& call, Lock& lock) {
  WaitUntil(call, lock, [&] { return copying_ == 0; });
  posted_[call.rank] = nullptr;
  return aborted_;
}

void LocalGroup::EndCopying(int count) {
  copying_ -= count;
  if (copying_ == 0 && !aborted_.ok()) changed_.notify_all();
}

absl::Status LocalGroup::RunPairs(LocalCall& call, Lock& lock) {
  call.unmet = static_cast<int>(call.pairs.size());
  for (HostPair& pair : call.pairs) pair.met = false;
  CopyBlocks(call.self, call.self);
  for (HostPair& pair : call.pairs) {
    if (const absl::Status status = MeetPeer(call, pair, lock); !status.ok()) {
      if (aborted_.ok()) aborted_ = status;
      changed_.notify_all();
      break;
    }
  }
  WaitUntil(call, lock, [&] { return call.unmet == 0 || !aborted_.ok(); });
  if (call.unmet != 0) return Leave(call, lock);
  posted_[call.rank] = nullptr;
  return absl::OkStatus();
}

// If the peer is there, exchanges the blocks; else the peer will, when it comes.
absl::Status LocalGroup::MeetPeer(LocalCall& call, HostPair& pair, Lock& lock) {
  LocalCall* const peer = posted_[pair.peer];
  if (!aborted_.ok() || pair.met || peer == nullptr) return absl::OkStatus();
  if (peer->operation != CommOperation::kSendReceive) return Mismatch(call, *peer, "different operations");
  HostPair* const peer_pair = peer->FindPair(call.rank);
  if (peer_pair == nullptr || peer_pair->met) return absl::OkStatus();  // its call for us is a later one
  const std::string why = FindMismatch(pair, *peer_pair);
  if (!why.empty()) return Mismatch(call, *peer, why);
  pair.met = true;
  peer_pair->met = true;
  ++copying_;
  lock.unlock();
  const int64_t sent = CopyBlocks(pair, *peer_pair);
  const int64_t received = CopyBlocks(*peer_pair, pair);
  lock.lock();
  call.wire += sent;
  peer->wire += received;
  EndCopying(1);
  --call.unmet;
  if (--peer->unmet == 0) changed_.notify_all();
  return absl::OkStatus();
}

template <typename Condition>
void LocalGroup::WaitUntil(LocalCall& call, Lock& lock, Condition condition) {
  if (condition()) return;
  const uint64_t begin = ReadCycles();
  changed_.wait(lock, condition);
  call.waited += ReadCycles() - begin;
}

}  // namespace partita
