// One rank's part of a collective as messages between pairs of ranks, and how it is run.
//
//   all_gather, broadcast, all_to_all   every block goes straight from its owner to its receivers
//   reduce_scatter, reduce     each input block goes to its owner in chunks; the owner adds a chunk of all ranks in
//                              ascending rank order while the next one is on its way
//   all_reduce                 the same over balanced blocks; a reduced chunk leaves at once for all ranks. If it is
//                              small, two ranks send each other all of it and both add, in the same order. If it is
//                              large, ranks that can read each other's memory send only addresses and progress.
//                              Where the embedding program has an all_reduce, it makes the sum
//
// Bytes are those of `local`, and so are results, unless the program adds in another order.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_BLOCK_CALL_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_BLOCK_CALL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/peer_channel.h"
#include "runtime/comm/processes/peer_arenas.h"
#include "runtime/comm/processes/peer_memory.h"
#include "runtime/comm/shared/comm_call.h"
#include "runtime/comm/transport/peer_mesh.h"

namespace partita {

// A contiguous block between this rank and a peer.
struct PeerBlock {
  PeerBlock(int peer, int rank, void* data, int64_t bytes, bool early, uint64_t tag)
      : passage(rank, data, bytes, early), peer(peer), tag(tag) {}

  Passage passage;
  const int peer;      // position in the group
  const uint64_t tag;  // differs for all blocks of a call between two ranks, and is the same for both
};

// Where the chunks that are to be added come in: two areas, one being reduced while the other is filled. The calls of a
// communicator run one after the other, and share it.
struct ReductionScratch {
  explicit ReductionScratch(int64_t bytes_of_area);

  std::vector<char> areas[2];
};

// What a communicator reads its peers by.
struct PeerReader {
  const PeerMemory* memory = nullptr;  // of the world
  PeerArenas arenas;
};

struct BlockCall : CommCall {
  // Lists the blocks. `ranks`: of the world, in group order; they must outlive the call. `scratch`: of the calls
  // before, or null; replaced by a larger one if this call needs it. kResourceExhausted: what the others are to read is
  // in no arena that they can map.
  absl::Status Prepare(PeerMesh& mesh, PeerReader& reader, std::span<const int> ranks,
                       std::shared_ptr<ReductionScratch>& scratch);

  // Moves and reduces. Slots combine the tags with `run`, which is the same on all ranks and differs between the calls
  // of a world. kUnavailable: a connection ended, or the mesh was closed; buffers may still be in use until it is.
  absl::Status Run(uint64_t run);

  // Instead of Prepare: whether Run leaves it to the program's all_reduce. `channel`: null, or outlives the call.
  bool LeaveToProgram(const PeerChannel* channel, int group, std::span<const int> ranks);

  // The peer for whose block Run waits now (position in the group), or one of these. Any thread.
  static constexpr int kNone = -1, kAll = -2;
  std::atomic<int> awaited{kNone};

 private:
  enum BlockKind : int64_t { kMoveBlock, kInputBlock, kResultBlock, kPlaceBlock, kNoteBlock };
  using Blocks = std::deque<PeerBlock>;

  // Where a rank has what it is to add, and where the sums come.
  struct Place {
    SharedPlace in, out;
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  ElementRange BlockOf(int rank) const;  // elements of `in` that a rank owns in a reduction
  uint64_t Descriptor() const;
  bool IsMutual(int peer) const;
  // To list `bytes` at `data` that a rank (position in the group) sends or receives; nothing, if there are none.
  void AddSend(Blocks& blocks, int peer, const void* data, int64_t bytes, uint64_t tag);
  void AddReceive(Blocks& blocks, int peer, void* data, int64_t bytes, uint64_t tag);
  void PrepareMoves();

  // block_reduction.cc
  absl::Status PrepareReduction(std::shared_ptr<ReductionScratch>& scratch);
  void PrepareExchange(std::shared_ptr<ReductionScratch>& scratch);
  void TakeScratch(int64_t bytes_of_area, std::shared_ptr<ReductionScratch>& scratch);
  int64_t ChunkBytes(const ElementRange& block, int64_t chunk) const;
  uint64_t ChunkTag(BlockKind kind, int64_t chunk) const;
  void AddInputs();
  void AddChunks(const ElementRange& own, std::shared_ptr<ReductionScratch>& scratch);
  void AddResults();
  void ReduceExchanged();
  absl::Status ReduceChunks();
  void PostChunk(int64_t chunk);
  absl::Status ReduceChunk(int64_t chunk);

  // program_reduction.cc
  absl::Status ReduceByProgram();

  // read_reduction.cc
  bool CanReadPeers() const;
  absl::Status PrepareReading();
  int64_t Parts(int owner) const;
  ElementRange PartOf(int owner, int64_t part) const;
  void AddNotes();
  absl::Status ReduceByReading();
  void ReducePart(const ElementRange& part);
  absl::Status TakeSums(int64_t part);
  absl::Status MapPeers();

  void Send(PeerBlock& block);
  void Receive(PeerBlock& block);
  absl::Status Await(PeerBlock& block);
  absl::Status AwaitReceive(PeerBlock& block);
  absl::Status AwaitSends();
  uint64_t SlotOf(const PeerBlock& block) const;

  const PeerChannel* channel_ = nullptr;  // null: the program does not make the sum
  int group_ = 0;                         // with it
  PeerMesh* mesh_ = nullptr;
  PeerReader* reader_ = nullptr;
  std::span<const int> ranks_;
  Blocks sends_, receives_;

  bool exchanges_ = false;                     // two ranks: all they have at once
  int64_t chunk_ = 0;                          // elements of a chunk
  int64_t chunks_ = 0;                         // of this rank's own block
  std::shared_ptr<ReductionScratch> scratch_;  // null if nothing is added here
  std::vector<const void*> inputs_;            // of a chunk, by rank
  Blocks chunk_receives_;                      // by chunk, then by peer
  Blocks result_sends_;                        // all_reduce: by chunk, then by peer

  // Where ranks read each other's memory. Then result_sends_ are notes: by part, then by peer, that it is reduced; and
  // to each peer one more, that this rank has taken all.
  bool reads_peers_ = false;
  Place own_place_;
  std::vector<Place> places_;                        // by rank
  std::vector<const char*> mapped_in_, mapped_out_;  // of the present run
  std::vector<PeerBlock*> place_receives_;           // of them
  std::vector<std::vector<PeerBlock*>> done_;        // by rank, by part: its notes
  std::vector<char> notes_;                          // what comes with them, which says nothing

  uint64_t run_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_BLOCK_CALL_H_
