// The reducing collectives of BlockCall.
#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/processes/block_call.h"
#include "runtime/comm/processes/slot_hash.h"
#include "runtime/comm/shared/host_reduce.h"

namespace partita {
namespace {

// Of a chunk. A block costs two ranks some processor time beside its bytes (the word that it is awaited, and threads
// that wake each other), so chunks are large; but both areas of a peer should stay in a core's cache.
constexpr int64_t kChunkBytes = 512 << 10;

// Up to so many bytes two ranks exchange all they have: one message each way instead of two, one after the other, for
// which each adds what it would have been sent. Larger inputs take longer to add than a message costs.
constexpr int64_t kMostExchangedBytes = 512 << 10;

int64_t Chunks(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

}  // namespace

ReductionScratch::ReductionScratch(int64_t bytes_of_area) {
  for (std::vector<char>& area : areas) area.resize(static_cast<size_t>(bytes_of_area));
}

ElementRange BlockCall::BlockOf(int owner) const {
  if (kind == CollectiveKind::kAllReduce) return BalancedRange(in.count, size(), owner);
  if (kind == CollectiveKind::kReduceScatter) return CountedRange(counts, owner);
  return owner == root ? ElementRange{0, in.count} : ElementRange{};
}

void BlockCall::TakeScratch(int64_t bytes_of_area, std::shared_ptr<ReductionScratch>& scratch) {
  if (scratch == nullptr || static_cast<int64_t>(scratch->areas[0].size()) < bytes_of_area) {
    scratch = std::make_shared<ReductionScratch>(bytes_of_area);
  }
  scratch_ = scratch;
}

absl::Status BlockCall::PrepareReduction(std::shared_ptr<ReductionScratch>& scratch) {
  inputs_.resize(ranks_.size());
  chunk_ = kChunkBytes / SizeOf(in.dtype);
  if (in.bytes() == 0) return absl::OkStatus();
  reads_peers_ = CanReadPeers();
  if (reads_peers_) return PrepareReading();
  exchanges_ = kind == CollectiveKind::kAllReduce && size() == 2 && in.bytes() <= kMostExchangedBytes;
  if (exchanges_) {
    PrepareExchange(scratch);
    return absl::OkStatus();
  }
  const ElementRange own = BlockOf(rank);
  chunks_ = Chunks(own.count, chunk_);
  if (size() == 1) return absl::OkStatus();
  AddInputs();
  if (chunks_ > 0) AddChunks(own, scratch);
  if (kind == CollectiveKind::kAllReduce) AddResults();
  return absl::OkStatus();
}

void BlockCall::PrepareExchange(std::shared_ptr<ReductionScratch>& scratch) {
  const uint64_t tag = HashOf({kInputBlock, static_cast<int64_t>(Descriptor()), -1});
  TakeScratch(in.bytes(), scratch);
  AddSend(sends_, 1 - rank, in.data, in.bytes(), tag);
  AddReceive(receives_, 1 - rank, scratch_->areas[0].data(), in.bytes(), tag);
}

int64_t BlockCall::ChunkBytes(const ElementRange& block, int64_t chunk) const {
  return std::min(chunk_, block.count - chunk * chunk_) * SizeOf(in.dtype);
}

uint64_t BlockCall::ChunkTag(BlockKind kind, int64_t chunk) const {
  return HashOf({kind, static_cast<int64_t>(Descriptor()), chunk});
}

// What the peers own of this rank's input, to them.
void BlockCall::AddInputs() {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    const ElementRange block = BlockOf(peer);
    for (int64_t c = 0; c < Chunks(block.count, chunk_); ++c) {
      AddSend(sends_, peer, At(in, block.first + c * chunk_), ChunkBytes(block, c), ChunkTag(kInputBlock, c));
    }
  }
}

// What the peers have of this rank's block into the areas and, of an all_reduce, the sums of it to them.
void BlockCall::AddChunks(const ElementRange& own, std::shared_ptr<ReductionScratch>& scratch) {
  const int64_t bytes_of_peer = std::min(chunk_, own.count) * SizeOf(in.dtype);
  TakeScratch(bytes_of_peer * (size() - 1), scratch);
  for (int64_t c = 0; c < chunks_; ++c) {
    char* place = scratch_->areas[c % 2].data();
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank) continue;
      AddReceive(chunk_receives_, peer, place, ChunkBytes(own, c), ChunkTag(kInputBlock, c));
      place += bytes_of_peer;
      if (kind != CollectiveKind::kAllReduce) continue;
      AddSend(result_sends_, peer, At(out, own.first + c * chunk_), ChunkBytes(own, c), ChunkTag(kResultBlock, c));
    }
  }
}

// The sums of the peers' blocks, from them.
void BlockCall::AddResults() {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    const ElementRange block = BlockOf(peer);
    for (int64_t c = 0; c < Chunks(block.count, chunk_); ++c) {
      AddReceive(receives_, peer, At(out, block.first + c * chunk_), ChunkBytes(block, c), ChunkTag(kResultBlock, c));
    }
  }
}

// When nothing is under way any more: the input may be the output.
void BlockCall::ReduceExchanged() {
  inputs_[rank] = in.data;
  inputs_[1 - rank] = scratch_->areas[0].data();
  ReduceElements(reduction, in.dtype, inputs_, in.count, out.data);
}

void BlockCall::PostChunk(int64_t chunk) {
  const auto peers = static_cast<size_t>(size() - 1);
  for (size_t p = 0; p < peers && !chunk_receives_.empty(); ++p) {
    Receive(chunk_receives_[static_cast<size_t>(chunk) * peers + p]);
  }
}

absl::Status BlockCall::ReduceChunks() {
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    RETURN_IF_ERROR(ReduceChunk(chunk));
    if (chunk + 2 < chunks_) PostChunk(chunk + 2);
  }
  return absl::OkStatus();
}

absl::Status BlockCall::ReduceChunk(int64_t chunk) {
  const ElementRange own = BlockOf(rank);
  const int64_t first = chunk * chunk_, count = std::min(chunk_, own.count - first);
  const auto peers = static_cast<size_t>(size() - 1);
  for (size_t p = 0; p < peers; ++p) {
    PeerBlock& block = chunk_receives_[static_cast<size_t>(chunk) * peers + p];
    RETURN_IF_ERROR(AwaitReceive(block));
    inputs_[block.peer] = block.passage.data();
    wire += block.passage.bytes();
  }
  inputs_[rank] = At(in, own.first + first);
  const int64_t place = kind == CollectiveKind::kAllReduce ? own.first + first : first;
  ReduceElements(reduction, in.dtype, inputs_, count, At(out, place));
  for (size_t p = 0; p < peers && !result_sends_.empty(); ++p) {
    Send(result_sends_[static_cast<size_t>(chunk) * peers + p]);
  }
  return absl::OkStatus();
}

}  // namespace partita
