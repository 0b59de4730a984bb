#include "runtime/comm/processes/block_call.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/processes/slot_hash.h"
#include "runtime/device/cycle_clock.h"

namespace partita {

// Equal for two ranks exactly if FindMismatch says that their calls are parts of one collective, except that the counts
// of an all_to_all are not in it.
uint64_t BlockCall::Descriptor() const {
  const uint64_t blocks = kind == CollectiveKind::kAllToAll ? 0 : HashCounts(counts);
  return HashOf({static_cast<int64_t>(kind), static_cast<int64_t>(in.dtype), static_cast<int64_t>(reduction),
                 static_cast<int64_t>(root), CommonCount(), static_cast<int64_t>(blocks)});
}

// Whether this rank gets something of the peer for what it sends to it, under a name that fits only their common call:
// so it cannot be through with the call while the peer is in another one.
bool BlockCall::IsMutual(int peer) const {
  if (kind == CollectiveKind::kAllReduce) return true;
  const bool by_counts = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  return by_counts && counts[rank] > 0 && counts[peer] > 0;
}

void BlockCall::AddSend(Blocks& blocks, int peer, const void* data, int64_t bytes, uint64_t tag) {
  if (bytes == 0) return;
  blocks.emplace_back(peer, ranks_[peer], const_cast<void*>(data), bytes, IsMutual(peer),
                      HashOf({static_cast<int64_t>(tag), bytes, rank}));
}

void BlockCall::AddReceive(Blocks& blocks, int peer, void* data, int64_t bytes, uint64_t tag) {
  if (bytes == 0) return;
  blocks.emplace_back(peer, ranks_[peer], data, bytes, IsMutual(peer),
                      HashOf({static_cast<int64_t>(tag), bytes, peer}));
}

absl::Status BlockCall::Prepare(PeerMesh& mesh, PeerReader& reader, std::span<const int> ranks,
                                std::shared_ptr<ReductionScratch>& scratch) {
  mesh_ = &mesh;
  reader_ = &reader;
  ranks_ = ranks;
  if (Reduces(kind)) return PrepareReduction(scratch);
  PrepareMoves();
  return absl::OkStatus();
}

void BlockCall::PrepareMoves() {
  const uint64_t tag = HashOf({kMoveBlock, static_cast<int64_t>(Descriptor())});
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    if (kind == CollectiveKind::kBroadcast) {
      if (rank == root) AddSend(sends_, peer, in.data, in.bytes(), tag);
      if (peer == root) AddReceive(receives_, peer, out.data, out.bytes(), tag);
    } else if (kind == CollectiveKind::kAllGather) {
      const ElementRange block = CountedRange(counts, peer);
      AddSend(sends_, peer, in.data, in.bytes(), tag);
      AddReceive(receives_, peer, At(out, block.first), block.count * SizeOf(in.dtype), tag);
    } else {
      const ElementRange sent = CountedRange(counts, peer), received = CountedRange(receive_counts, peer);
      AddSend(sends_, peer, At(in, sent.first), sent.count * SizeOf(in.dtype), tag);
      AddReceive(receives_, peer, At(out, received.first), received.count * SizeOf(in.dtype), tag);
    }
  }
}

absl::Status BlockCall::Run(uint64_t run) {
  run_ = run;
  if (channel_ != nullptr) return ReduceByProgram();
  for (PeerBlock& block : receives_) Receive(block);
  for (int64_t chunk = 0; chunk < std::min<int64_t>(2, chunks_); ++chunk) PostChunk(chunk);
  for (PeerBlock& block : sends_) Send(block);
  if (reads_peers_) {
    RETURN_IF_ERROR(ReduceByReading());
  } else if (chunks_ > 0) {
    RETURN_IF_ERROR(ReduceChunks());
  } else if (kind == CollectiveKind::kBroadcast) {
    if (rank == root) CopyBytes(out.data, in.data, in.bytes());
  } else if (!Reduces(kind)) {
    CopyOwnBlock(*this);
  }
  for (PeerBlock& block : receives_) {
    RETURN_IF_ERROR(AwaitReceive(block));
    wire += reads_peers_ ? 0 : block.passage.bytes();
  }
  RETURN_IF_ERROR(AwaitSends());
  if (exchanges_) ReduceExchanged();
  if (kind == CollectiveKind::kAllToAll) {
    wire = 0;
    for (const PeerBlock& block : sends_) wire += block.passage.bytes();
  }
  return absl::OkStatus();
}

uint64_t BlockCall::SlotOf(const PeerBlock& block) const { return MixBits(block.tag ^ MixBits(run_)); }

void BlockCall::Send(PeerBlock& block) { mesh_->Send(block.passage, SlotOf(block)); }

void BlockCall::Receive(PeerBlock& block) { mesh_->Receive(block.passage, SlotOf(block)); }

absl::Status BlockCall::Await(PeerBlock& block) {
  awaited.store(block.peer, std::memory_order_relaxed);
  const bool ended = block.passage.Await();
  awaited.store(kNone, std::memory_order_relaxed);
  return ended ? absl::OkStatus() : absl::UnavailableError("a connection ended");
}

absl::Status BlockCall::AwaitReceive(PeerBlock& block) {
  SetWaiting(true);
  const uint64_t begin = ReadCycles();
  const absl::Status status = Await(block);
  waited += ReadCycles() - begin;
  SetWaiting(false);
  return status;
}

absl::Status BlockCall::AwaitSends() {
  SetWaiting(true);
  const uint64_t begin = ReadCycles();
  for (Blocks* const blocks : {&sends_, &result_sends_}) {
    for (PeerBlock& block : *blocks) RETURN_IF_ERROR(Await(block));
  }
  waited += sends_.empty() && result_sends_.empty() ? 0 : ReadCycles() - begin;
  SetWaiting(false);
  return absl::OkStatus();
}

}  // namespace partita
