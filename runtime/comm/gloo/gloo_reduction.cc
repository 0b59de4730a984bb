// The reducing collectives of GlooCall.
#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_call.h"
#include "runtime/comm/gloo/gloo_hash.h"
#include "runtime/comm/shared/host_reduce.h"

namespace partita {
namespace {

// Of a chunk. A message costs two ranks some 20 us of processor time beside its bytes (the word that it is awaited, and
// threads that wake each other), so chunks are large; but both areas of a peer should stay in a core's cache.
constexpr int64_t kChunkBytes = 512 << 10;

// Up to so many bytes two ranks exchange all they have: one message each way instead of two, one after the other, for
// which each adds what it would have been sent. Larger inputs take longer to add than a message costs.
constexpr int64_t kMostExchangedBytes = 512 << 10;

int64_t Chunks(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

}  // namespace

GlooScratch::GlooScratch(GlooMesh& mesh, int64_t bytes_of_area) {
  for (Area& area : areas) {
    area.bytes.resize(static_cast<size_t>(bytes_of_area));
    area.buffer = mesh.NewBuffer(area.bytes.data(), bytes_of_area);
  }
}

ElementRange GlooCall::BlockOf(int owner) const {
  if (operation == CommOperation::kAllReduce) return BalancedRange(in.count, size(), owner);
  if (operation == CommOperation::kReduceScatter) return CountedRange(counts, owner);
  return owner == root ? ElementRange{0, in.count} : ElementRange{};
}

void GlooCall::TakeScratch(int64_t bytes_of_area, std::shared_ptr<GlooScratch>& scratch) {
  if (scratch == nullptr || static_cast<int64_t>(scratch->areas[0].bytes.size()) < bytes_of_area) {
    scratch = std::make_shared<GlooScratch>(*mesh_, bytes_of_area);
  }
  scratch_ = scratch;
}

void GlooCall::PrepareReduction(std::shared_ptr<GlooScratch>& scratch) {
  inputs_.resize(ranks_.size());
  chunk_ = kChunkBytes / SizeOf(in.dtype);
  if (in.bytes() == 0) return;
  exchanges_ = operation == CommOperation::kAllReduce && size() == 2 && in.bytes() <= kMostExchangedBytes;
  if (exchanges_) return PrepareExchange(scratch);
  const ElementRange own = BlockOf(rank);
  chunks_ = Chunks(own.count, chunk_);
  if (size() == 1) return;
  AddInputs();
  if (chunks_ > 0) AddChunks(own, scratch);
  if (operation == CommOperation::kAllReduce) AddResults();
}

void GlooCall::PrepareExchange(std::shared_ptr<GlooScratch>& scratch) {
  const uint64_t tag = HashOf({kInputBlock, static_cast<int64_t>(Descriptor()), -1});
  TakeScratch(in.bytes(), scratch);
  AddSend(NewBuffer(in.data, in.bytes()), 1 - rank, 0, in.bytes(), tag);
  AddReceive(scratch_->areas[0].buffer.get(), 1 - rank, 0, in.bytes(), tag);
}

int64_t GlooCall::ChunkBytes(const ElementRange& block, int64_t chunk) const {
  return std::min(chunk_, block.count - chunk * chunk_) * SizeOf(in.dtype);
}

uint64_t GlooCall::ChunkTag(BlockKind kind, int64_t chunk) const {
  return HashOf({kind, static_cast<int64_t>(Descriptor()), chunk});
}

// What the peers own of this rank's input, to them.
void GlooCall::AddInputs() {
  GlooBuffer* const from = NewBuffer(in.data, in.bytes());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    const ElementRange block = BlockOf(peer);
    for (int64_t c = 0; c < Chunks(block.count, chunk_); ++c) {
      AddSend(from, peer, (block.first + c * chunk_) * SizeOf(in.dtype), ChunkBytes(block, c),
              ChunkTag(kInputBlock, c));
    }
  }
}

// What the peers have of this rank's block into the areas and, of an all_reduce, the sums of it to them.
void GlooCall::AddChunks(const ElementRange& own, std::shared_ptr<GlooScratch>& scratch) {
  const int64_t element = SizeOf(in.dtype), bytes_of_peer = std::min(chunk_, own.count) * element;
  TakeScratch(bytes_of_peer * (size() - 1), scratch);
  const bool all = operation == CommOperation::kAllReduce;
  GlooBuffer* const result = all ? NewBuffer(out.data, out.bytes()) : nullptr;
  for (int64_t c = 0; c < chunks_; ++c) {
    const int64_t bytes = ChunkBytes(own, c);
    int64_t place = 0;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank) continue;
      const auto input = static_cast<int64_t>(ChunkTag(kInputBlock, c));
      chunk_receives_.push_back(
          {scratch_->areas[c % 2].buffer.get(), peer, place, bytes, HashOf({input, bytes, peer})});
      place += bytes_of_peer;
      if (!all) continue;
      const auto sum = static_cast<int64_t>(ChunkTag(kResultBlock, c));
      result_sends_.push_back({result, peer, (own.first + c * chunk_) * element, bytes, HashOf({sum, bytes, rank})});
    }
  }
}

// The sums of the peers' blocks, from them.
void GlooCall::AddResults() {
  for (int peer = 0; peer < size(); ++peer) {
    const ElementRange block = BlockOf(peer);
    if (peer == rank || block.count == 0) continue;
    GlooBuffer* const to = NewBuffer(out.data, out.bytes());
    for (int64_t c = 0; c < Chunks(block.count, chunk_); ++c) {
      AddReceive(to, peer, (block.first + c * chunk_) * SizeOf(in.dtype), ChunkBytes(block, c),
                 ChunkTag(kResultBlock, c));
    }
  }
}

// When nothing is under way any more: the input may be the output.
void GlooCall::ReduceExchanged() {
  inputs_[rank] = in.data;
  inputs_[1 - rank] = scratch_->areas[0].bytes.data();
  ReduceElements(reduction, in.dtype, inputs_, in.count, out.data);
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
  const ElementRange own = BlockOf(rank);
  const int64_t first = chunk * chunk_, count = std::min(chunk_, own.count - first);
  const auto peers = static_cast<size_t>(size() - 1);
  for (size_t p = 0; p < peers; ++p) {
    const GlooBlock& block = chunk_receives_[static_cast<size_t>(chunk) * peers + p];
    RETURN_IF_ERROR(AwaitReceive(*block.buffer, block.peer));
    inputs_[block.peer] = scratch_->areas[chunk % 2].bytes.data() + block.offset;
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

}  // namespace partita
