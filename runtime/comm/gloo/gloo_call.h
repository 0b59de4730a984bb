// One rank's part of a collective as messages between pairs of ranks, and how it is run.
//
//   all_gather, broadcast, all_to_all, send_receive   every block goes straight from its owner to who wants it
//   reduce_scatter, reduce     each input block goes to its owner in chunks, who adds a chunk of all ranks in ascending
//                              rank order while the next one is on its way
//   all_reduce                 the same over balanced blocks; a reduced chunk leaves at once for all ranks
//
// That is the way of `local`, so the bytes are the same, and the bits too.
#ifndef PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_
#define PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/gloo/gloo_mesh.h"
#include "runtime/comm/host/host_call.h"

namespace partita {

// A contiguous block between this rank and a peer.
struct GlooBlock {
  GlooBuffer* buffer = nullptr;
  int peer = 0;        // position in the group
  int64_t offset = 0;  // bytes in the buffer
  int64_t bytes = 0;
  uint64_t tag = 0;  // differs for all blocks of a call between two ranks, and is the same for both
};

struct GlooCall : HostCall {
  // Makes the buffers and lists the blocks. `ranks`: of the world, in group order; they must outlive the call.
  void Prepare(GlooMesh& mesh, std::span<const int> ranks);

  // Moves and reduces. Slots are made of the tags and of what tells this call from all others: `run` (of the group),
  // and by peer for send_receive. kUnavailable: a connection ended, or Interrupt; buffers may still be in use then.
  absl::Status Run(uint64_t run, std::span<const uint64_t> runs_by_peer);

  // From any thread: makes Run return as soon as it would wait.
  void Interrupt();

  // The peer for whose block Run waits now (position in the group), -1: none. Any thread.
  std::atomic<int> awaited{-1};

 private:
  // Where the chunks of all peers come in: two areas, one being reduced while the other is filled.
  struct Area {
    std::vector<char> bytes;
    std::unique_ptr<GlooBuffer> buffer;
  };

  bool reduces() const;
  int size() const { return static_cast<int>(ranks_.size()); }
  CommBlock BlockOf(int rank) const;  // elements of `in` that a rank owns in a reduction
  uint64_t Descriptor() const;
  GlooBuffer* NewBuffer(const void* data, int64_t bytes);
  void AddSend(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag);
  void AddReceive(GlooBuffer* buffer, int peer, int64_t offset, int64_t bytes, uint64_t tag);
  void PrepareMoves();
  void PreparePairs();
  void PrepareReduction();

  absl::Status Send(const GlooBlock& block);
  absl::Status Receive(const GlooBlock& block);
  absl::Status AwaitReceive(GlooBuffer& buffer, int peer);
  absl::Status AwaitSends();
  absl::Status ReduceChunks();
  absl::Status PostChunk(int64_t chunk);
  absl::Status ReduceChunk(int64_t chunk);
  uint64_t SlotOf(const GlooBlock& block) const;
  void CopyOwn();

  GlooMesh* mesh_ = nullptr;
  std::span<const int> ranks_;
  std::vector<std::unique_ptr<GlooBuffer>> buffers_;
  std::vector<GlooBlock> sends_, receives_;

  int64_t chunk_ = 0;   // elements of a chunk
  int64_t chunks_ = 0;  // of this rank's own block
  Area areas_[2];
  std::vector<const void*> inputs_;        // of a chunk, by rank
  std::vector<GlooBlock> chunk_receives_;  // by chunk, then by peer
  std::vector<GlooBlock> result_sends_;    // all_reduce: by chunk, then by peer

  uint64_t run_ = 0;
  std::span<const uint64_t> runs_by_peer_;
  int64_t sends_under_way_ = 0;
  std::vector<GlooBuffer*> sending_;  // a buffer for each send under way
  std::atomic<bool> interrupted_{false};
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_GLOO_GLOO_CALL_H_
