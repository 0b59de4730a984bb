// The protocol of a link without its stream: the blocks that two ranks want and offer, as one of them knows them.
//
// A sender transmits a block when the receiver requests it (want), so that it arrives directly in its buffer. It
// transmits a small block at once, without a request. Blocks that arrive before the receiver has a buffer are stored,
// up to kEarlyBytes; the receiver reports when stored bytes become free (credit). A sender that would exceed the limit
// only announces the block (offer), and transmits it on request like a large one.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_SLOTS_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_SLOTS_H_

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/transport/passage.h"

namespace partita {

// Thread-compatible. Errors (kUnavailable) say what the peer did that no rank does.
class Slots {
 public:
  static constexpr int64_t kSmallBytes = 64 << 10;
  static constexpr int64_t kEarlyBytes = 1 << 20;
  static constexpr size_t kMostSlots = 1 << 20;  // wanted, and offered

  enum class Sending { kNow, kOffer, kLater };
  Sending Send(Passage& passage);

  enum class Receiving { kHere, kWant, kLater };
  // kHere: the block has come already, and is in `early`.
  absl::StatusOr<Receiving> Receive(Passage& passage, std::vector<char>& early);

  // Of what the peer says. The passage that is to be sent now; null: its time comes with Send.
  absl::StatusOr<Passage*> OnWant(uint64_t slot);
  // True: it is to be asked for now.
  absl::StatusOr<bool> OnOffer(uint64_t slot);
  absl::Status OnCredit(uint64_t bytes);

  // The memory for a part of a block; `Arrived` follows. Null, of early blocks alone: there is none yet, `Keep`
  // follows.
  absl::StatusOr<Passage*> OnBlock(uint64_t slot, uint64_t offset, int64_t bytes, bool early);
  // True: that was the last part of it.
  bool Arrived(Passage& passage, int64_t bytes, bool early);
  void Keep(uint64_t slot, std::vector<char> block);

  // Bytes of early blocks to report to the peer; 0: not yet.
  int64_t TakeCredit();

  // All that have not ended are taken out.
  std::vector<Passage*> Clear();

 private:
  static bool MayBeEarly(const Passage& passage) { return passage.may_be_early_ && passage.bytes_ <= kSmallBytes; }
  static int64_t EarlyCost(int64_t bytes) { return bytes + 64; }  // and what keeping it takes

  std::unordered_map<uint64_t, Passage*> sends_, receives_;  // that wait for the peer
  std::unordered_set<uint64_t> wanted_, offered_;            // by the peer, for blocks without a call of this rank yet
  std::unordered_map<uint64_t, std::vector<char>> early_;    // blocks that came before their time
  int64_t sent_early_ = 0;                                   // that the peer has not reported as free
  int64_t kept_early_ = 0;
  int64_t credit_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_SLOTS_H_
