#include "runtime/comm/gloo/gloo_call.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_hash.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
bool GlooCall::reduces() const {
  return operation == CommOperation::kAllReduce || operation == CommOperation::kReduceScatter ||
         operation == CommOperation::kReduce;
}

// Equal for two ranks exactly if their calls can be parts of one collective (FindMismatch).
uint64_t GlooCall::Descriptor() const {
  const bool broadcast = operation == CommOperation::kBroadcast;
  const DType dtype = broadcast ? out.dtype : in.dtype;
  const auto fixed = {static_cast<int64_t>(operation), static_cast<int64_t>(dtype), static_cast<int64_t>(reduction),
                      static_cast<int64_t>(root)};
  if (operation == CommOperation::kAllToAll) return HashOf(fixed);
  const bool by_rank = operation == CommOperation::kAllGather || operation == CommOperation::kReduceScatter;
  const int64_t count = by_rank ? 0 : broadcast ? out.count : in.count;
  return HashOf({static_cast<int64_t>(HashOf(fixed)), count, static_cast<int64_t>(HashCounts(counts))});
}

GlooBuffer* GlooCall::NewBuffer(const void* data, int64_t bytes) {
  return buffers_.emplace_back(mesh_->NewBuffer(const_cast<void*>(data), bytes)).get();
}

void GlooCall::AddSend(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag) {
  if (bytes > 0) sends_.push_back({buffer, peer, offset, bytes, HashOf({static_cast<int64_t>(tag), bytes, rank})});
}

void GlooCall::AddReceive(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag) {
  if (bytes > 0) receives_.push_back({buffer, peer, offset, bytes, HashOf({static_cast<int64_t>(tag), bytes, peer})});
}

void GlooCall::Prepare(GlooMesh& mesh, std::span<const int> ranks, std::shared_ptr<GlooScratch>& scratch) {
  mesh_ = &mesh;
  ranks_ = ranks;
  if (operation == CommOperation::kSendReceive) {
    PreparePairs();
  } else if (reduces()) {
    PrepareReduction(scratch);
  } else {
    PrepareMoves();
  }
  sending_.reserve(sends_.size() + result_sends_.size());
}

void GlooCall::PrepareMoves() {
  const uint64_t tag = HashOf({kMoveBlock, static_cast<int64_t>(Descriptor())});
  GlooBuffer* const from = in.bytes() > 0 ? NewBuffer(in.data, in.bytes()) : nullptr;
  const int64_t element = SizeOf(operation == CommOperation::kBroadcast ? out.dtype : in.dtype);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    // A receive has a buffer of its own: a wait is for a peer.
    GlooBuffer* const to = out.bytes() > 0 ? NewBuffer(out.data, out.bytes()) : nullptr;
    if (operation == CommOperation::kBroadcast) {
      if (rank == root) AddSend(from, peer, 0, in.bytes(), tag);
      if (peer == root) AddReceive(to, peer, 0, out.bytes(), tag);
    } else if (operation == CommOperation::kAllGather) {
      const ElementRange block = CountedRange(counts, peer);
      AddSend(from, peer, 0, in.bytes(), tag);
      AddReceive(to, peer, block.first * element, block.count * element, tag);
    } else {
      const ElementRange sent = CountedRange(counts, peer), received = CountedRange(receive_counts, peer);
      AddSend(from, peer, sent.first * element, sent.count * element, tag);
      AddReceive(to, peer, received.first * element, received.count * element, tag);
    }
  }
}

void GlooCall::PreparePairs() {
  for (const CommPair& pair : pairs) {
    const auto tag = [](size_t index, size_t blocks, DType dtype) {
      return HashOf({kMoveBlock, static_cast<int64_t>(CommOperation::kSendReceive), static_cast<int64_t>(index),
                     static_cast<int64_t>(blocks), static_cast<int64_t>(dtype)});
    };
    for (size_t b = 0; b < pair.sent.size(); ++b) {
      const ConstBuffer& block = pair.sent[b];
      if (block.bytes() == 0) continue;
      AddSend(NewBuffer(block.data, block.bytes()), pair.peer, 0, block.bytes(), tag(b, pair.sent.size(), block.dtype));
    }
    for (size_t b = 0; b < pair.received.size(); ++b) {
      const Buffer& block = pair.received[b];
      if (block.bytes() == 0) continue;
      AddReceive(NewBuffer(block.data, block.bytes()), pair.peer, 0, block.bytes(),
                 tag(b, pair.received.size(), block.dtype));
    }
  }
}

absl::Status GlooCall::Run(uint64_t run, std::span<const uint64_t> runs_by_peer) {
  run_ = run;
  runs_by_peer_ = runs_by_peer;
  sending_.clear();
  for (const GlooBlock& block : receives_) RETURN_IF_ERROR(Receive(block));
  for (int64_t chunk = 0; chunk < std::min<int64_t>(2, chunks_); ++chunk) RETURN_IF_ERROR(PostChunk(chunk));
  for (const GlooBlock& block : sends_) RETURN_IF_ERROR(Send(block));
  if (chunks_ > 0) {
    RETURN_IF_ERROR(ReduceChunks());
  } else if (!reduces()) {
    CopyOwn();
  }
  for (const GlooBlock& block : receives_) {
    RETURN_IF_ERROR(AwaitReceive(*block.buffer, block.peer));
    wire += operation == CommOperation::kSendReceive ? 0 : block.bytes;
  }
  RETURN_IF_ERROR(AwaitSends());
  if (exchanges_) ReduceExchanged();
  if (operation == CommOperation::kSendReceive || operation == CommOperation::kAllToAll) {
    wire = 0;
    for (const GlooBlock& block : sends_) wire += block.bytes;
  }
  return absl::OkStatus();
}

void GlooCall::CopyOwn() {
  switch (operation) {
    case CommOperation::kBroadcast:
      if (rank == root) CopyBytes(out.data, in.data, in.bytes());
      return;
    case CommOperation::kAllGather:
      return CopyBytes(At(out, CountedRange(counts, rank).first), in.data, in.bytes());
    case CommOperation::kAllToAll:
      return CopyBytes(At(out, CountedRange(receive_counts, rank).first), At(in, CountedRange(counts, rank).first),
                       counts[rank] * SizeOf(in.dtype));
    default:
      CopyBlocks(self, self);
  }
}

uint64_t GlooCall::SlotOf(const GlooBlock& block) const {
  const uint64_t run = runs_by_peer_.empty() ? run_ : runs_by_peer_[block.peer];
  return MixBits(block.tag ^ MixBits(run));
}

absl::Status GlooCall::Send(const GlooBlock& block) {
  sending_.push_back({block.buffer, block.peer});
  return CallGloo([&] { block.buffer->Send(ranks_[block.peer], SlotOf(block), block.offset, block.bytes); });
}

absl::Status GlooCall::Receive(const GlooBlock& block) {
  return CallGloo([&] { block.buffer->Receive(ranks_[block.peer], SlotOf(block), block.offset, block.bytes); });
}

absl::Status GlooCall::AwaitReceive(GlooBuffer& buffer, int peer) {
  awaited.store(peer, std::memory_order_relaxed);
  SetWaiting(true);
  const uint64_t begin = ReadCycles();
  bool came = false;
  RETURN_IF_ERROR(CallGloo([&] { came = !interrupted_.load() && buffer.AwaitReceive(ranks_[peer]); }));
  waited += ReadCycles() - begin;
  SetWaiting(false);
  awaited.store(-1, std::memory_order_relaxed);
  return came ? absl::OkStatus() : absl::UnavailableError("interrupted");
}

absl::Status GlooCall::AwaitSends() {
  SetWaiting(true);
  const uint64_t begin = ReadCycles();
  for (const auto& [buffer, peer] : sending_) {
    bool gone = false;
    RETURN_IF_ERROR(CallGloo(
        [&, buffer = buffer, peer = peer] { gone = !interrupted_.load() && buffer->AwaitSend(ranks_[peer]); }));
    if (!gone) return absl::UnavailableError("interrupted");
  }
  waited += sending_.empty() ? 0 : ReadCycles() - begin;
  SetWaiting(false);
  return absl::OkStatus();
}

void GlooCall::Interrupt() {
  interrupted_.store(true);
  for (const auto& buffer : buffers_) buffer->Interrupt();
  if (scratch_ == nullptr) return;
  for (const GlooScratch::Area& area : scratch_->areas) area.buffer->Interrupt();
}

}  // namespace partita
