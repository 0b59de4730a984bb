#include "runtime/comm/transport/slots.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

Slots::Sending Slots::Send(Passage& passage) {
  if (wanted_.erase(passage.slot_) > 0) return Sending::kNow;
  const int64_t cost = EarlyCost(passage.bytes_);
  if (MayBeEarly(passage) && sent_early_ + cost <= kEarlyBytes) {
    sent_early_ += cost;
    passage.early_ = true;
    return Sending::kNow;
  }
  CHECK(sends_.emplace(passage.slot_, &passage).second);
  return MayBeEarly(passage) ? Sending::kOffer : Sending::kLater;
}

absl::StatusOr<Slots::Receiving> Slots::Receive(Passage& passage, std::vector<char>& early) {
  if (const auto here = early_.find(passage.slot_); here != early_.end()) {
    if (static_cast<int64_t>(here->second.size()) != passage.bytes_) {
      return Unavailable("it has sent {} bytes of a block of {}", here->second.size(), passage.bytes_);
    }
    early = std::move(here->second);
    early_.erase(here);
    kept_early_ -= EarlyCost(passage.bytes_);
    credit_ += EarlyCost(passage.bytes_);
    return Receiving::kHere;
  }
  CHECK(receives_.emplace(passage.slot_, &passage).second);
  const bool offered = offered_.erase(passage.slot_) > 0;
  return offered || !MayBeEarly(passage) ? Receiving::kWant : Receiving::kLater;
}

absl::StatusOr<Passage*> Slots::OnWant(uint64_t slot) {
  if (const auto found = sends_.find(slot); found != sends_.end()) {
    Passage* const passage = found->second;
    sends_.erase(found);
    return passage;
  }
  if (wanted_.size() == kMostSlots) return Unavailable("it wants more than {} blocks at a time", kMostSlots);
  wanted_.insert(slot);
  return nullptr;
}

absl::StatusOr<bool> Slots::OnOffer(uint64_t slot) {
  if (receives_.contains(slot)) return true;
  if (offered_.size() == kMostSlots) return Unavailable("it offers more than {} blocks at a time", kMostSlots);
  offered_.insert(slot);
  return false;
}

absl::Status Slots::OnCredit(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(sent_early_)) return Unavailable("it has got more than it was sent");
  sent_early_ -= static_cast<int64_t>(bytes);
  return absl::OkStatus();
}

absl::StatusOr<Passage*> Slots::OnBlock(uint64_t slot, uint64_t offset, int64_t bytes, bool early) {
  if (const auto found = receives_.find(slot); found != receives_.end()) {
    Passage* const passage = found->second;
    const bool fits = offset == static_cast<uint64_t>(passage->moved_) && bytes > 0 &&
                      bytes <= passage->bytes_ - passage->moved_ && (!early || bytes == passage->bytes_);
    if (fits) return passage;
    return Unavailable("it sends {} bytes at {} of a block of {}", bytes, offset, passage->bytes_);
  }
  if (!early) return Unavailable("it sends a block that nobody wants");
  if (bytes > kSmallBytes || kept_early_ + EarlyCost(bytes) > kEarlyBytes || early_.contains(slot)) {
    return Unavailable("it sends more than is kept for later");
  }
  return nullptr;
}

bool Slots::Arrived(Passage& passage, int64_t bytes, bool early) {
  passage.moved_ += bytes;
  if (early) credit_ += EarlyCost(bytes);
  if (passage.moved_ < passage.bytes_) return false;
  receives_.erase(passage.slot_);
  return true;
}

void Slots::Keep(uint64_t slot, std::vector<char> block) {
  kept_early_ += EarlyCost(static_cast<int64_t>(block.size()));
  early_[slot] = std::move(block);
}

int64_t Slots::TakeCredit() { return credit_ < kEarlyBytes / 4 ? 0 : std::exchange(credit_, 0); }

std::vector<Passage*> Slots::Clear() {
  std::vector<Passage*> passages;
  for (auto* posted : {&sends_, &receives_}) {
    for (const auto& [slot, passage] : *posted) passages.push_back(passage);
    posted->clear();
  }
  return passages;
}

}  // namespace partita
