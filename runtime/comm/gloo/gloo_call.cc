#include "runtime/comm/gloo/gloo_call.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_hash.h"
#include "runtime/comm/host/host_reduce.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

// Of a chunk: large enough that its three messages cost little, small enough to be reduced from the cache. Between these
// a block is cut into kChunks, so that it is reduced and sent on while the rest of it comes in.
constexpr int64_t kLeastChunkBytes = 128 << 10;
constexpr int64_t kMostChunkBytes = 512 << 10;
constexpr int64_t kChunks = 2;

// A wait without end: peers that do not answer are found by GlooWorld.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

enum Phase : int64_t { kMove, kInput, kResult };

int64_t Chunks(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

// Elements of a chunk of a block: the same for its owner and for who sends to it.
int64_t ChunkOf(int64_t count, int64_t element) {
  const int64_t part = std::clamp(count * element / kChunks, kLeastChunkBytes, kMostChunkBytes);
  return (part + 63) / 64 * 64 / element;
}

}  // namespace

bool GlooCall::reduces() const {
  return operation == CommOperation::kAllReduce || operation == CommOperation::kReduceScatter ||
         operation == CommOperation::kReduce;
}

CommBlock GlooCall::BlockOf(int owner) const {
  if (operation == CommOperation::kAllReduce) return BalancedBlock(in.count, size(), owner);
  if (operation == CommOperation::kReduceScatter) return CountedBlock(counts, owner);
  return owner == root ? CommBlock{0, in.count} : CommBlock{};
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

void GlooCall::Prepare(GlooMesh& mesh, std::span<const int> ranks) {
  mesh_ = &mesh;
  ranks_ = ranks;
  if (operation == CommOperation::kSendReceive) {
    PreparePairs();
  } else if (reduces()) {
    PrepareReduction();
  } else {
    PrepareMoves();
  }
  sending_.reserve(sends_.size() + result_sends_.size());
}

void GlooCall::PrepareMoves() {
  const uint64_t tag = HashOf({kMove, static_cast<int64_t>(Descriptor())});
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
      const CommBlock block = CountedBlock(counts, peer);
      AddSend(from, peer, 0, in.bytes(), tag);
      AddReceive(to, peer, block.first * element, block.count * element, tag);
    } else {
      const CommBlock sent = CountedBlock(counts, peer), received = CountedBlock(receive_counts, peer);
      AddSend(from, peer, sent.first * element, sent.count * element, tag);
      AddReceive(to, peer, received.first * element, received.count * element, tag);
    }
  }
}

void GlooCall::PreparePairs() {
  for (const HostPair& pair : pairs) {
    const auto tag = [](size_t index, size_t blocks, DType dtype) {
      return HashOf({kMove, static_cast<int64_t>(CommOperation::kSendReceive), static_cast<int64_t>(index),
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

void GlooCall::PrepareReduction() {
  const int64_t element = SizeOf(in.dtype);
  const auto descriptor = static_cast<int64_t>(Descriptor());
  const CommBlock own = BlockOf(rank);
  chunk_ = ChunkOf(own.count, element);
  chunks_ = Chunks(own.count, chunk_);
  inputs_.resize(ranks_.size());
  if (in.bytes() == 0 || size() == 1) return;
  GlooBuffer* const from = NewBuffer(in.data, in.bytes());
  const auto bytes_of = [&](const CommBlock& block, int64_t chunk, int64_t c) {
    return std::min(chunk, block.count - c * chunk) * element;
  };
  const auto tag = [&](Phase phase, int64_t c) { return HashOf({phase, descriptor, c}); };
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    const CommBlock block = BlockOf(peer);
    const int64_t chunk = ChunkOf(block.count, element);
    for (int64_t c = 0; c < Chunks(block.count, chunk); ++c) {
      AddSend(from, peer, (block.first + c * chunk) * element, bytes_of(block, chunk, c), tag(kInput, c));
    }
  }
  const bool all = operation == CommOperation::kAllReduce;
  GlooBuffer* const result = all ? NewBuffer(out.data, out.bytes()) : nullptr;
  for (Area& area : areas_) {
    if (chunks_ == 0) break;
    area.bytes.resize(static_cast<size_t>(std::min(chunk_, own.count) * element * (size() - 1)));
    area.buffer = mesh_->NewBuffer(area.bytes.data(), static_cast<int64_t>(area.bytes.size()));
  }
  for (int64_t c = 0; c < chunks_; ++c) {
    int64_t place = 0;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank) continue;
      const int64_t bytes = bytes_of(own, chunk_, c);
      chunk_receives_.push_back({areas_[c % 2].buffer.get(), peer, place, bytes,
                                 HashOf({static_cast<int64_t>(tag(kInput, c)), bytes, peer})});
      place += std::min(chunk_, own.count) * element;
      if (!all) continue;
      result_sends_.push_back({result, peer, (own.first + c * chunk_) * element, bytes,
                               HashOf({static_cast<int64_t>(tag(kResult, c)), bytes, rank})});
    }
  }
  for (int peer = 0; all && peer < size(); ++peer) {
    const CommBlock block = BlockOf(peer);
    if (peer == rank || block.count == 0) continue;
    GlooBuffer* const to = NewBuffer(out.data, out.bytes());
    const int64_t chunk = ChunkOf(block.count, element);
    for (int64_t c = 0; c < Chunks(block.count, chunk); ++c) {
      AddReceive(to, peer, (block.first + c * chunk) * element, bytes_of(block, chunk, c), tag(kResult, c));
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
  if (reduces()) {
    RETURN_IF_ERROR(ReduceChunks());
  } else {
    CopyOwn();
  }
  for (const GlooBlock& block : receives_) {
    RETURN_IF_ERROR(AwaitReceive(*block.buffer, block.peer));
    wire += operation == CommOperation::kSendReceive ? 0 : block.bytes;
  }
  RETURN_IF_ERROR(AwaitSends());
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
      return CopyBytes(At(out, CountedBlock(counts, rank).first), in.data, in.bytes());
    case CommOperation::kAllToAll:
      return CopyBytes(At(out, CountedBlock(receive_counts, rank).first), At(in, CountedBlock(counts, rank).first),
                       counts[rank] * SizeOf(in.dtype));
    default:
      CopyBlocks(self, self);
  }
}

absl::Status GlooCall::PostChunk(int64_t chunk) {
  const auto peers = static_cast<size_t>(size() - 1);
  for (size_t p = 0; p < peers && !chunk_receives_.empty(); ++p) {
    RETURN_IF_ERROR(Receive(chunk_receives_[static_cast<size_t>(chunk) * peers + p]));
  }
  return absl::OkStatus();
}

absl::Status GlooCall::ReduceChunks() {
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    RETURN_IF_ERROR(ReduceChunk(chunk));
    if (chunk + 2 < chunks_) RETURN_IF_ERROR(PostChunk(chunk + 2));
  }
  return absl::OkStatus();
}

absl::Status GlooCall::ReduceChunk(int64_t chunk) {
  const CommBlock own = BlockOf(rank);
  const int64_t first = chunk * chunk_, count = std::min(chunk_, own.count - first);
  const auto peers = static_cast<size_t>(size() - 1);
  for (size_t p = 0; p < peers; ++p) {
    const GlooBlock& block = chunk_receives_[static_cast<size_t>(chunk) * peers + p];
    RETURN_IF_ERROR(AwaitReceive(*block.buffer, block.peer));
    inputs_[block.peer] = areas_[chunk % 2].bytes.data() + block.offset;
    wire += block.bytes;
  }
  inputs_[rank] = At(in, own.first + first);
  const int64_t place = operation == CommOperation::kAllReduce ? own.first + first : first;
  ReduceElements(reduction, in.dtype, inputs_, count, At(out, place));
  for (size_t p = 0; p < peers && !result_sends_.empty(); ++p) {
    RETURN_IF_ERROR(Send(result_sends_[static_cast<size_t>(chunk) * peers + p]));
  }
  return absl::OkStatus();
}

uint64_t GlooCall::SlotOf(const GlooBlock& block) const {
  const uint64_t run = runs_by_peer_.empty() ? run_ : runs_by_peer_[block.peer];
  return MixBits(block.tag ^ MixBits(run));
}

absl::Status GlooCall::Send(const GlooBlock& block) {
  sending_.push_back(block.buffer);
  return CallGloo([&] { block.buffer->send(ranks_[block.peer], SlotOf(block), block.offset, block.bytes); });
}

absl::Status GlooCall::Receive(const GlooBlock& block) {
  return CallGloo([&] { block.buffer->recv(ranks_[block.peer], SlotOf(block), block.offset, block.bytes); });
}

absl::Status GlooCall::AwaitReceive(GlooBuffer& buffer, int peer) {
  awaited.store(peer, std::memory_order_relaxed);
  const uint64_t begin = ReadCycles();
  bool came = false;
  RETURN_IF_ERROR(CallGloo([&] { came = !interrupted_.load() && buffer.waitRecv(kForever); }));
  waited += ReadCycles() - begin;
  awaited.store(-1, std::memory_order_relaxed);
  return came ? absl::OkStatus() : absl::UnavailableError("interrupted");
}

absl::Status GlooCall::AwaitSends() {
  const uint64_t begin = ReadCycles();
  for (GlooBuffer* buffer : sending_) {
    bool gone = false;
    RETURN_IF_ERROR(CallGloo([&] { gone = !interrupted_.load() && buffer->waitSend(kForever); }));
    if (!gone) return absl::UnavailableError("interrupted");
  }
  waited += sending_.empty() ? 0 : ReadCycles() - begin;
  return absl::OkStatus();
}

void GlooCall::Interrupt() {
  interrupted_.store(true);
  const auto wake = [](GlooBuffer& buffer) {
    buffer.abortWaitRecv();
    buffer.abortWaitSend();
  };
  for (const auto& buffer : buffers_) wake(*buffer);
  for (Area& area : areas_) {
    if (area.buffer != nullptr) wake(*area.buffer);
  }
}

}  // namespace partita
