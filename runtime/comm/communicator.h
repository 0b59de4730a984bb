// Collective operations among the ranks of one group, in the order of the program.
//
// All ranks of a group call the same operations in the same order; the program guarantees it and VerifyCollectives
// checks it. An operation is enqueued on `stream` and returns at once; all operations of a communicator go to one
// stream, or to streams ordered by events. Buffers must stay valid until the stream has passed the operation, and
// when it has, no peer reads or writes them any more. Operations enqueued during a capture are part of the step.
//
// Ranks, roots and peers are positions in the group, 0..size()-1. Counts and sizes are in elements. Buffers must not
// overlap, except where "in place" is said. Wrong arguments return kInvalidArgument at once. Stream::Synchronize or
// CapturedStep::Wait returns errors that appear later (a peer died, or called another operation); the error of a
// mismatch names the group, the two ranks, their operations and sequence numbers. Thread-compatible: one thread
// enqueues. Implemented by local, processes, cuda_local and nccl; the same suite tests all (tests/conformance).
#ifndef PARTITA_RUNTIME_COMM_COMMUNICATOR_H_
#define PARTITA_RUNTIME_COMM_COMMUNICATOR_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/collective_kind.h"
#include "graph/value/dtype.h"
#include "graph/value/reduction.h"
#include "runtime/device/stream.h"

namespace partita {

struct ConstBuffer {
  const void* data = nullptr;  // may be null if count is 0
  int64_t count = 0;
  DType dtype = DType::kF32;

  int64_t bytes() const { return count * SizeOf(dtype); }
};

struct Buffer {
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;

  int64_t bytes() const { return count * SizeOf(dtype); }
  operator ConstBuffer() const { return {data, count, dtype}; }
};

// A block of a buffer that need not be contiguous: a box of a tensor in it. Its elements are counted like those of a
// dense tensor of its sizes.
struct StridedBlock {
  struct Dimension {
    int64_t size;
    int64_t stride;  // elements of the buffer
  };
  int64_t begin = 0;                             // the index in the buffer of the block's first element
  std::vector<Dimension> dimensions = {{0, 1}};  // the outermost first; none: one element

  int64_t count() const {
    int64_t elements = 1;
    for (const Dimension& dimension : dimensions) elements *= dimension.size;
    return elements;
  }
};

// What the ranks of a group do together, as one of them calls it. Fields that the kind does not use keep their
// defaults.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;  // all_reduce, reduce_scatter, reduce
  int root = 0;                           // broadcast, reduce
  std::vector<int64_t> counts = {};       // all_gather, reduce_scatter: of each rank's block; all_to_all: sent to each
  std::vector<int64_t> receive_counts = {};  // all_to_all: received from each
  // all_to_all, instead of counts: the block of `in` sent to each rank, the block of `out` received from each.
  std::vector<StridedBlock> sent = {}, received = {};
};

// The traffic of one rank's communicator since its creation. Its sum over the ranks of a group is the group's traffic
// (docs/derivation.md 3), counted from the buffers and the bytes really copied, not from any prediction.
struct CommBytes {
  int64_t payload = 0;  // bytes of the full buffer, once per call (group rank 0); of all_to_all: what this rank sent
  int64_t wire = 0;     // bytes that changed rank
  int64_t calls = 0;
  int64_t waits = 0;        // calls that had to wait for a peer
  double wait_seconds = 0;  // in which this rank only waited for peers

  double MeanWaitSeconds() const { return waits == 0 ? 0 : wait_seconds / static_cast<double>(waits); }
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Takes part in `collective` with these operands; the methods below say what each kind does with them.
  virtual absl::Status Enqueue(const Collective& collective, ConstBuffer in, Buffer out, Stream& stream) = 0;

  // out[i] = reduction over ranks of in[i], bitwise identical on all ranks. In place: in == out. Not for u8.
  absl::Status AllReduce(ConstBuffer in, Buffer out, Reduction reduction, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kAllReduce, .reduction = reduction}, in, out, stream);
  }

  // out = the ranks' `in`, in rank order; counts[r] = elements of rank r. In place: in is the rank's block of out.
  absl::Status AllGather(ConstBuffer in, Buffer out, std::span<const int64_t> counts, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kAllGather, .counts = {counts.begin(), counts.end()}}, in, out, stream);
  }

  // out = the rank's block of the reduction of all `in`; counts[r] = elements of rank r's block. In place: out is
  // the rank's block of in. Not for u8.
  absl::Status ReduceScatter(ConstBuffer in, Buffer out, std::span<const int64_t> counts, Reduction reduction,
                             Stream& stream) {
    return Enqueue(
        {.kind = CollectiveKind::kReduceScatter, .reduction = reduction, .counts = {counts.begin(), counts.end()}}, in,
        out, stream);
  }

  // out = the root's `in`, on all ranks; `in` is only read on the root. In place: in == out.
  absl::Status Broadcast(ConstBuffer in, Buffer out, int root, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kBroadcast, .root = root}, in, out, stream);
  }

  // The root's out = the reduction of all `in`; `out` is only used on the root. In place: in == out. Not for u8.
  absl::Status Reduce(ConstBuffer in, Buffer out, int root, Reduction reduction, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kReduce, .reduction = reduction, .root = root}, in, out, stream);
  }

  // Rank r's block of `in` (counts[r] elements, in rank order) goes to rank r; out = the received blocks, in rank order.
  absl::Status AllToAll(ConstBuffer in, std::span<const int64_t> counts, Buffer out,
                        std::span<const int64_t> receive_counts, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kAllToAll,
                    .counts = {counts.begin(), counts.end()},
                    .receive_counts = {receive_counts.begin(), receive_counts.end()}},
                   in, out, stream);
  }

  // AllToAll between strided blocks without packing: block sent[r] of `in` goes to rank r, which receives it as block
  // received[this rank] of its `out`; both have the same sizes by dimension. Received blocks do not overlap; elements
  // of `out` outside of them do not change. kUnimplemented if World::moves_blocks() is false: the caller must pack.
  absl::Status AllToAllBlocks(ConstBuffer in, std::span<const StridedBlock> sent, Buffer out,
                              std::span<const StridedBlock> received, Stream& stream) {
    return Enqueue({.kind = CollectiveKind::kAllToAll,
                    .sent = {sent.begin(), sent.end()},
                    .received = {received.begin(), received.end()}},
                   in, out, stream);
  }

  // Safe to call at any time; exact when the streams used are idle.
  virtual CommBytes bytes() const = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_COMMUNICATOR_H_
