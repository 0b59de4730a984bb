#include "runtime/rendezvous/roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/number.h"
#include "runtime/comm/peer_status.h"

namespace partita {
namespace {

constexpr int64_t kLongestBarrier = int64_t{1} << 40;  // milliseconds, so that a deadline is a time

}  // namespace

std::string Roster::Join(int rank, int ranks, Time now) {
  if (ranks != ranks_)
    return fmt::format("rank {} says that the job has {}, it has {}", rank, Counted(ranks, "rank"), ranks_);
  if (rank < 0 || rank >= ranks_) return fmt::format("rank {} is none of 0..{}", rank, ranks_ - 1);
  if (!disagreement_.empty()) return disagreement_;
  if (!known_.insert(rank).second) return fmt::format("there is a rank {} already", rank);
  present_[rank] = now;
  return "";
}

void Roster::Disagree(int rank, const std::string& why, Letters& out) {
  if (rank < 0 || rank >= ranks_ || known_.contains(rank)) return;
  disagreement_ = why;
  Fail(absl::InvalidArgumentError(why), out);
}

void Roster::Receive(int rank, const rendezvous::ToServer& message, Time now, Letters& out) {
  const auto found = present_.find(rank);
  if (found == present_.end()) return;
  found->second = now;
  if (message.has_set()) {
    values_[message.set().key()] = message.set().value();
    for (const int waiting : waiting_[message.set().key()]) {
      Letter& letter = out.emplace_back();
      letter.rank = waiting;
      letter.message.mutable_value()->set_key(message.set().key());
      letter.message.mutable_value()->set_value(message.set().value());
    }
    waiting_.erase(message.set().key());
  } else if (message.has_get()) {
    const auto value = values_.find(message.get().key());
    if (value == values_.end()) {
      waiting_[message.get().key()].insert(rank);
      return;
    }
    Letter& letter = out.emplace_back();
    letter.rank = rank;
    letter.message.mutable_value()->set_key(value->first);
    letter.message.mutable_value()->set_value(value->second);
  } else if (message.has_barrier()) {
    BarrierState& barrier = barriers_[message.barrier().name()];
    barrier.deadlines[rank] = now + std::chrono::milliseconds(std::clamp(message.barrier().timeout_milliseconds(),
                                                                         int64_t{0}, kLongestBarrier));
    if (static_cast<int>(barrier.deadlines.size()) == ranks_) {
      EndBarrier(message.barrier().name(), {}, out);
    } else if (known_.size() > present_.size()) {
      EndBarrier(message.barrier().name(), MissingIn(barrier), out);  // who has gone will never come
    }
  } else if (message.has_heartbeat()) {
    Letter& letter = out.emplace_back();
    letter.rank = rank;
    letter.message.mutable_heartbeat();
  } else if (message.has_failure()) {
    Fail(PeerStatus(message.failure().code(), message.failure().message()), out);
  } else if (message.has_leave()) {
    leaving_.insert(rank);
  }
}

void Roster::End(int rank, Letters& out) {
  if (present_.erase(rank) == 0) return;
  if (leaving_.count(rank) > 0) {
    std::vector<std::string> hopeless;
    for (const auto& [name, barrier] : barriers_) hopeless.push_back(name);
    for (const std::string& name : hopeless) EndBarrier(name, MissingIn(barriers_[name]), out);
    return;
  }
  Fail(absl::UnavailableError(fmt::format("rank {} is gone: its control stream ended", rank)), out);
}

std::vector<int> Roster::Tick(Time now, Letters& out) {
  std::set<std::string> over;
  for (const auto& [name, barrier] : barriers_) {
    for (const auto& [rank, deadline] : barrier.deadlines) {
      if (now >= deadline) over.insert(name);
    }
  }
  for (const std::string& name : over) EndBarrier(name, MissingIn(barriers_[name]), out);
  std::vector<int> silent;
  for (const auto& [rank, heard] : present_) {
    if (now - heard > timeout_) silent.push_back(rank);
  }
  for (const int rank : silent) {
    present_.erase(rank);
    Fail(absl::UnavailableError(fmt::format("rank {} has been silent for {} ms", rank, timeout_.count())), out);
  }
  return silent;
}

std::vector<int> Roster::MissingIn(const BarrierState& barrier) const {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (barrier.deadlines.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

void Roster::EndBarrier(const std::string& name, const std::vector<int>& missing, Letters& out) {
  for (const auto& [rank, deadline] : barriers_[name].deadlines) {
    Letter& letter = out.emplace_back();
    letter.rank = rank;
    letter.message.mutable_barrier_end()->set_name(name);
    for (const int other : missing) letter.message.mutable_barrier_end()->add_missing(other);
  }
  barriers_.erase(name);
}

// The first failure counts: what follows follows from it. Rank 0 hears of it last: it may end at once, and who tells
// the others ends with it.
void Roster::Fail(const absl::Status& status, Letters& out) {
  if (failed_) return;
  failed_ = true;
  for (auto present = present_.rbegin(); present != present_.rend(); ++present) {
    Letter& letter = out.emplace_back();
    letter.rank = present->first;
    letter.message.mutable_failure()->set_code(static_cast<int>(status.code()));
    letter.message.mutable_failure()->set_message(std::string(status.message()));
  }
}

}  // namespace partita
