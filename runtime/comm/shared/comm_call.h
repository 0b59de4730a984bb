// One rank's part of one collective: its arguments, its text for error messages, and whether the parts of two ranks
// match.
#ifndef PARTITA_RUNTIME_COMM_SHARED_COMM_CALL_H_
#define PARTITA_RUNTIME_COMM_SHARED_COMM_CALL_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/device/strided_copy.h"
#include "runtime/flight_recorder/flight_ring.h"

namespace partita {

class HostCommunicator;

// The record that a stream's task points to, prepared when it is enqueued so that a replay allocates nothing.
struct CommCall : Collective {
  virtual ~CommCall() = default;

  HostCommunicator* communicator = nullptr;
  int rank = 0;
  // Of one type, also where the rank has only one of them; the other one is empty then.
  ConstBuffer in;
  Buffer out;

  // Of the current run; written by the thread that runs it, read for the counters after it has ended.
  int64_t sequence = 0;  // the call's sequence number in the group, from 1
  int64_t wire = 0;      // bytes that left this rank, or came to it
  uint64_t waited = 0;   // cycles

  std::atomic<bool> finished{false};  // has run at least once; one that is not captured can be dropped then

  // What is recorded of a run; null: nothing is.
  FlightRing* flight_ring = nullptr;
  FlightRing::Operation flown;
  uint64_t flight = 0;  // the present run's ticket

  // Whether the present run waits for a peer. By its thread.
  void SetWaiting(bool waiting) {
    if (flight_ring != nullptr) flight_ring->SetWaiting(flight, waiting);
  }

  // "all_reduce of 100 f32 (sum)".
  std::string Describe() const;

  // Elements of the group's full buffer (docs/derivation.md 3), the same number on all ranks; -1 for all_to_all, where
  // each rank has its own.
  int64_t CommonCount() const;

  // Bytes that leave this rank or arrive at it, in a group of this number of ranks: this rank's part of the group's
  // traffic.
  int64_t WireBytes(int64_t size) const;
};

// Why the two calls cannot be parts of one collective; empty if they can.
std::string FindMismatch(const CommCall& a, const CommCall& b);

// "group 7: why: rank 0 calls ... (sequence number 2), rank 1 calls ... (sequence number 2)", lower rank first.
struct NamedCall {
  int rank = 0;  // of the world
  std::string description;
  int64_t sequence = 0;
};
std::string MismatchMessage(int group, const std::string& why, const NamedCall& a, const NamedCall& b);

// Elements [first, first + count) of a flat buffer.
struct ElementRange {
  int64_t first = 0;
  int64_t count = 0;
};

// Block `rank` of n elements in p balanced blocks: the first n mod p have one more.
ElementRange BalancedRange(int64_t n, int64_t p, int64_t rank);

// Block `rank` of blocks of these sizes.
ElementRange CountedRange(std::span<const int64_t> counts, int rank);

inline char* At(const Buffer& buffer, int64_t element) {
  return static_cast<char*>(buffer.data) + element * SizeOf(buffer.dtype);
}

inline const char* At(const ConstBuffer& buffer, int64_t element) {
  return static_cast<const char*>(buffer.data) + element * SizeOf(buffer.dtype);
}

// What one call of an all_to_all of blocks sends to the other, or one of `parts` parts of it: a share of the outermost
// dimension, or, if that has fewer elements than there are parts, of one of its elements. Returns its bytes.
int64_t SetBlockCopy(const CommCall& from, const CommCall& to, int part, int parts, StridedCopy& copy);

// Copies the block that a rank sends to itself in an all_gather, or in an all_to_all without `sent`.
void CopyOwnBlock(const CommCall& call);

// dst = src, unless they are the same place. Zero bytes need no pointers.
void CopyBytes(void* to, const void* from, int64_t bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_COMM_CALL_H_
