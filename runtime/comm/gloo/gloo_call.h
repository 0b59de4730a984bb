// One rank's part of a collective as messages between pairs of ranks, and how it is run.
//
//   all_gather, broadcast, all_to_all, send_receive   every block goes straight from its owner to who wants it
//   reduce_scatter, reduce     each input block goes to its owner in chunks, who adds a chunk of all ranks in ascending
//                              rank order while the next one is on its way
//   all_reduce                 the same over balanced blocks; a reduced chunk leaves at once for all ranks. Of little,
//                              two ranks give each other all of it and both add, in the same order
//
// The bytes are those of `local`, and the bits too.
#ifndef PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_
#define PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/gloo/gloo_mesh.h"
#include "runtime/comm/shared/comm_call.h"

namespace partita {

// A contiguous block between this rank and a peer.
struct GlooBlock {
  GlooBuffer* buffer = nullptr;
  int peer = 0;        // position in the group
  int64_t offset = 0;  // bytes in the buffer
  int64_t bytes = 0;
  uint64_t tag = 0;  // differs for all blocks of a call between two ranks, and is the same for both
};

// Where the chunks that are to be added come in: two areas, one being reduced while the other is filled. The calls of a
// communicator run one after the other, and share it.
struct GlooScratch {
  struct Area {
    std::vector<char> bytes;
    std::unique_ptr<GlooBuffer> buffer;
  };

  GlooScratch(GlooMesh& mesh, int64_t bytes_of_area);

  Area areas[2];
};

struct GlooCall : CommCall {
  // Makes the buffers and lists the blocks. `ranks`: of the world, in group order; they must outlive the call.
  // `scratch`: of the calls before, or null; replaced by a larger one if this call needs it.
  void Prepare(GlooMesh& mesh, std::span<const int> ranks, std::shared_ptr<GlooScratch>& scratch);

  // Moves and reduces. Slots are made of the tags and of what tells this call from all others: `run` (of the group),
  // and by peer for send_receive. kUnavailable: a connection ended, or Interrupt; buffers may still be in use then.
  absl::Status Run(uint64_t run, std::span<const uint64_t> runs_by_peer);

  // From any thread: makes Run return as soon as it would wait.
  void Interrupt();

  // The peer for whose block Run waits now (position in the group), -1: none. Any thread.
  std::atomic<int> awaited{-1};

 private:
  enum BlockKind : int64_t { kMoveBlock, kInputBlock, kResultBlock };

  bool reduces() const;
  int size() const { return static_cast<int>(ranks_.size()); }
  ElementRange BlockOf(int rank) const;  // elements of `in` that a rank owns in a reduction
  uint64_t Descriptor() const;
  GlooBuffer* NewBuffer(const void* data, int64_t bytes);
  void AddSend(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag);
  void AddReceive(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag);
  void PrepareMoves();
  void PreparePairs();

  // gloo_reduction.cc
  void PrepareReduction(std::shared_ptr<GlooScratch>& scratch);
  void PrepareExchange(std::shared_ptr<GlooScratch>& scratch);
  void TakeScratch(int64_t bytes_of_area, std::shared_ptr<GlooScratch>& scratch);
  int64_t ChunkBytes(const ElementRange& block, int64_t chunk) const;
  uint64_t ChunkTag(BlockKind kind, int64_t chunk) const;
  void AddInputs();
  void AddChunks(const ElementRange& own, std::shared_ptr<GlooScratch>& scratch);
  void AddResults();
  void ReduceExchanged();
  absl::Status ReduceChunks();
  absl::Status PostChunk(int64_t chunk);
  absl::Status ReduceChunk(int64_t chunk);

  absl::Status Send(const GlooBlock& block);
  absl::Status Receive(const GlooBlock& block);
  absl::Status AwaitReceive(GlooBuffer& buffer, int peer);
  absl::Status AwaitSends();
  uint64_t SlotOf(const GlooBlock& block) const;
  void CopyOwn();

  GlooMesh* mesh_ = nullptr;
  std::span<const int> ranks_;
  std::vector<std::unique_ptr<GlooBuffer>> buffers_;
  std::vector<GlooBlock> sends_, receives_;

  bool exchanges_ = false;                 // two ranks: all they have at once
  int64_t chunk_ = 0;                      // elements of a chunk
  int64_t chunks_ = 0;                     // of this rank's own block
  std::shared_ptr<GlooScratch> scratch_;   // null if nothing is added here
  std::vector<const void*> inputs_;        // of a chunk, by rank
  std::vector<GlooBlock> chunk_receives_;  // by chunk, then by peer
  std::vector<GlooBlock> result_sends_;    // all_reduce: by chunk, then by peer

  bool swap_ = false;
  uint64_t run_ = 0;
  std::span<const uint64_t> runs_by_peer_;
  std::vector<std::pair<GlooBuffer*, int>> sending_;  // buffer and peer of each send under way
  std::atomic<bool> interrupted_{false};
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_
