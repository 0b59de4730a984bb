#include "runtime/comm/local/local_call.h"

#include <algorithm>
#include <numeric>

#include "runtime/comm/shared/host_reduce.h"

namespace partita {
namespace {

// Of a part: some ten microseconds of copying, beside which taking it costs nothing.
constexpr int64_t kPartBytes = 128 << 10;
constexpr int64_t kMostParts = 64;

// Of an all_reduce, reduced before it is copied to all ranks: stays in the second cache.
constexpr int64_t kStrideBytes = 64 << 10;

// A part of a block, in whole cache lines where the block is.
ElementRange PartOf(const ElementRange& block, int part, int parts) {
  const int64_t size = ((block.count + parts - 1) / parts + 63) / 64 * 64;
  const int64_t begin = std::min(block.count, part * size);
  return {block.first + begin, std::min(size, block.count - begin)};
}

int64_t Bytes(const ElementRange& block, DType dtype) { return block.count * SizeOf(dtype); }

// Reduces elements [first, first + count) of all inputs into `to`; all but self's own had to come from a peer.
int64_t ReduceFromAll(const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls, ElementRange block,
                      void* to) {
  for (size_t rank = 0; rank < calls.size(); ++rank) worker.inputs[rank] = At(calls[rank]->in, block.first);
  ReduceElements(self.reduction, self.in.dtype, worker.inputs, block.count, to);
  return static_cast<int64_t>(calls.size() - 1) * Bytes(block, self.in.dtype);
}

// Nobody else touches these elements, so they can go to all ranks at once, also where outputs are inputs.
PartBytes AllReducePart(int part, int parts, const LocalCall& self, LocalCall& worker,
                        std::span<LocalCall* const> calls) {
  PartBytes bytes;
  const ElementRange own = BalancedRange(self.in.count, static_cast<int64_t>(calls.size()), self.rank);
  const ElementRange all = PartOf(own, part, parts);
  const int64_t most = kStrideBytes / SizeOf(self.in.dtype);
  for (int64_t begin = 0; begin < all.count; begin += most) {
    const ElementRange block{all.first + begin, std::min(most, all.count - begin)};
    bytes.own += ReduceFromAll(self, worker, calls, block, At(self.out, block.first));
    bytes.each_peer += Bytes(block, self.in.dtype);
    for (const LocalCall* peer : calls) {
      CopyBytes(At(peer->out, block.first), At(self.out, block.first), Bytes(block, self.in.dtype));
    }
  }
  return bytes;
}

PartBytes GatherPart(int part, int parts, const LocalCall& self, std::span<LocalCall* const> calls) {
  PartBytes bytes;
  int64_t first = 0;
  for (const LocalCall* peer : calls) {
    const ElementRange block = PartOf({0, peer == &self ? 0 : peer->in.count}, part, parts);
    CopyBytes(At(self.out, first + block.first), At(peer->in, block.first), Bytes(block, self.out.dtype));
    bytes.own += Bytes(block, self.out.dtype);
    first += self.counts[peer->rank];
  }
  return bytes;
}

PartBytes ReduceScatterPart(int part, int parts, const LocalCall& self, LocalCall& worker,
                            std::span<LocalCall* const> calls) {
  const ElementRange own = CountedRange(self.counts, self.rank);
  const ElementRange block = PartOf(own, part, parts);
  return {ReduceFromAll(self, worker, calls, block, At(self.out, block.first - own.first)), 0};
}

PartBytes BroadcastPart(int part, int parts, const LocalCall& self, std::span<LocalCall* const> calls) {
  const ElementRange block = PartOf({0, self.out.count}, part, parts);
  const int64_t bytes = Bytes(block, self.out.dtype);
  CopyBytes(At(self.out, block.first), At(calls[self.root]->in, block.first), bytes);
  return {self.rank == self.root ? 0 : bytes, 0};
}

PartBytes ReducePart(int part, int parts, const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls) {
  if (self.rank != self.root) return {};
  const ElementRange block = PartOf({0, self.in.count}, part, parts);
  return {ReduceFromAll(self, worker, calls, block, At(self.out, block.first)), 0};
}

PartBytes BlocksPart(int part, int parts, const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls) {
  PartBytes bytes;
  for (const LocalCall* peer : calls) {
    if (peer == &self) continue;
    bytes.own += SetBlockCopy(self, *peer, part, parts, worker.strided);
    RunStridedCopy(worker.strided);
  }
  return bytes;
}

PartBytes AllToAllPart(int part, int parts, const LocalCall& self, std::span<LocalCall* const> calls) {
  PartBytes bytes;
  for (const LocalCall* peer : calls) {
    if (peer == &self) continue;
    const ElementRange block = CountedRange(self.counts, peer->rank);
    const ElementRange sent = PartOf(block, part, parts);
    const int64_t place = CountedRange(peer->receive_counts, self.rank).first + sent.first - block.first;
    CopyBytes(At(peer->out, place), At(self.in, sent.first), Bytes(sent, self.in.dtype));
    bytes.own += Bytes(sent, self.in.dtype);
  }
  return bytes;
}

}  // namespace

void CopyOwn(LocalCall& self) {
  if (self.kind != CollectiveKind::kAllGather && self.kind != CollectiveKind::kAllToAll) return;
  if (self.sent.empty()) return CopyOwnBlock(self);
  SetBlockCopy(self, self, 0, 1, self.strided);
  RunStridedCopy(self.strided);
}

int64_t BytesOf(const CommCall& call) {
  if (call.sent.empty()) return std::max(call.in.bytes(), call.out.bytes());
  const auto sum = [](const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
  };
  return std::max(sum(call.counts), sum(call.receive_counts)) * SizeOf(call.in.dtype);
}

int PartsOf(std::span<LocalCall* const> calls) {
  int64_t most = 0;
  for (const LocalCall* call : calls) most = std::max(most, call->bytes);
  return static_cast<int>(std::clamp<int64_t>(most / kPartBytes, 1, kMostParts));
}

PartBytes RunPart(int part, int parts, const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls) {
  switch (self.kind) {
    case CollectiveKind::kAllReduce:
      return AllReducePart(part, parts, self, worker, calls);
    case CollectiveKind::kAllGather:
      return GatherPart(part, parts, self, calls);
    case CollectiveKind::kReduceScatter:
      return ReduceScatterPart(part, parts, self, worker, calls);
    case CollectiveKind::kBroadcast:
      return BroadcastPart(part, parts, self, calls);
    case CollectiveKind::kReduce:
      return ReducePart(part, parts, self, worker, calls);
    case CollectiveKind::kAllToAll:
      return self.sent.empty() ? AllToAllPart(part, parts, self, calls) : BlocksPart(part, parts, self, worker, calls);
  }
  return {};
}

}  // namespace partita
