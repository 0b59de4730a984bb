// The copies and reductions of a collective of `local`, in parts that any rank may do.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_

#include <span>
#include <vector>

#include "runtime/comm/shared/comm_call.h"
#include "runtime/device/strided_copy.h"

namespace partita {

struct LocalMeeting;

// In a run, what LocalGroup shares among ranks is guarded by its mutex.
struct LocalCall : CommCall {
  int unmet = 0;                     // pairs whose blocks are not yet copied
  LocalMeeting* joinable = nullptr;  // a meeting that a peer has begun with this call, in which there is work left
  int taken = 0;                     // parts of this rank's work that someone has begun
  std::vector<const void*> inputs;   // as many as ranks: where a reduction by this rank's thread reads
  StridedCopy strided;               // what this rank's thread copies of a block now
  int64_t bytes = 0;                 // the larger of what it reads and what it writes
};

// Bytes that changed rank in a part: read from peers by the rank whose part it is, and written to each of them.
struct PartBytes {
  int64_t own = 0;
  int64_t each_peer = 0;
};

// Copies what a rank keeps itself of an all_gather, all_to_all or send_receive. No peer is needed for it.
void CopyOwn(LocalCall& self);

// LocalCall::bytes, known as soon as the call is.
int64_t BytesOf(const CommCall& call);

// Into how many parts the work of each rank is cut.
int PartsOf(std::span<LocalCall* const> calls);

// A part (of 0..parts-1) of what else `self` has to do, by the thread of `worker`. `calls` are the calls of all ranks,
// by rank. Parts may be done at the same time, and by whom they like: result and bytes are the same.
PartBytes RunPart(int part, int parts, const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls);

// Two calls whose blocks for each other are being copied: from `pair`, which found the peer, to `peer_pair` and back.
struct LocalMeeting {
  struct Piece {
    const char* from = nullptr;
    char* to = nullptr;
    int64_t bytes = 0;
    bool back = false;
  };

  LocalMeeting(LocalCall& call, CommPair& pair, LocalCall& peer, CommPair& peer_pair);

  int64_t bytes() const { return bytes_; }  // of all blocks, both ways

  // The next piece; false: all are taken.
  bool Take(Piece& piece);

  LocalCall& call;
  LocalCall& peer;
  int64_t copied = 0;  // bytes
  bool ended = false;  // all are copied, and both calls know

 private:
  bool Seek();

  int64_t bytes_ = 0;
  const CommPair& pair_;
  const CommPair& peer_pair_;
  bool back_ = false;  // what the peer sends comes after what it receives
  size_t block_ = 0;
  int64_t offset_ = 0;  // bytes of the block that are taken
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
