// One rank's part of one collective: the record that a stream's task points to, and what the rank copies for it.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace partita {

class LocalGroup;

enum class CommOperation { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll, kSendReceive };

// "all_reduce", ...: the names of the moves.
const char* Name(CommOperation operation);

// What CommBytes is read from. Written by the thread that runs the call, read by any.
struct LocalCounters {
  std::atomic<int64_t> payload{0};
  std::atomic<int64_t> wire{0};
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> waits{0};
  std::atomic<uint64_t> wait_cycles{0};
};

// The blocks of a SendReceive that are exchanged with one peer.
struct LocalPair {
  int peer = 0;
  std::vector<ConstBuffer> sent;
  std::vector<Buffer> received;
  bool met = false;  // in this run: the peer's call was found, and the blocks are copied or being copied
};

struct LocalCall {
  LocalGroup* group = nullptr;
  LocalCounters* counters = nullptr;
  CommOperation operation = CommOperation::kAllReduce;
  int rank = 0;
  ConstBuffer in;
  Buffer out;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  std::vector<int64_t> counts;          // all_gather, reduce_scatter: per rank; all_to_all: sent to each
  std::vector<int64_t> receive_counts;  // all_to_all
  std::vector<LocalPair> pairs;         // send_receive: by peer, without the rank itself
  LocalPair self;                       // send_receive: blocks to itself

  // Of the present run; guarded by the group's mutex (in RunPhase by the order of phases).
  int64_t sequence = 0;  // the how manyth call of this rank in the group, from 1
  int64_t wire = 0;      // bytes that left this rank, or came to it
  int unmet = 0;         // pairs whose blocks are not yet copied
  uint64_t waited = 0;   // cycles

  std::atomic<bool> finished{false};  // has run at least once; one that is not captured can be dropped then

  LocalPair* FindPair(int peer);

  // "all_reduce of 100 f32 (sum)".
  std::string Describe() const;

  // Bytes of the group's full buffer (derivation.md section 3), from the buffer handed to this rank.
  int64_t FullBytes() const;
};

// Why the two calls cannot be parts of one collective (not of send_receive); empty if they can.
std::string FindMismatch(const LocalCall& a, const LocalCall& b);

// Why the blocks of two ranks for each other do not fit; empty if they do.
std::string FindMismatch(const LocalPair& a, const LocalPair& b);

// A collective is one phase, or two with a barrier between them.
int Phases(CommOperation operation);

// What `self` has to copy or reduce in a phase. `calls` are the calls of all ranks, by rank. Different ranks may run
// the same phase at the same time or one after the other; the result and the counts are the same.
void RunPhase(int phase, LocalCall& self, std::span<LocalCall* const> calls);

// Copies the blocks that one rank sends into the buffers in which its peer receives them; returns their bytes.
int64_t CopyBlocks(const LocalPair& from, const LocalPair& to);

// dst = src, unless they are the same place. Zero bytes need no pointers.
void CopyBytes(void* to, const void* from, int64_t bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
