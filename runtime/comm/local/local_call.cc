#include "runtime/comm/local/local_call.h"

#include "runtime/comm/host/host_reduce.h"

namespace partita {
namespace {

// Reduces elements [first, first + count) of all inputs into `to`; all but self's own had to come from a peer.
void ReduceFromAll(LocalCall& self, std::span<LocalCall* const> calls, CommBlock block, void* to) {
  for (size_t rank = 0; rank < calls.size(); ++rank) self.inputs[rank] = At(calls[rank]->in, block.first);
  ReduceElements(self.reduction, self.in.dtype, self.inputs, block.count, to);
  self.wire += static_cast<int64_t>(calls.size() - 1) * block.count * SizeOf(self.in.dtype);
}

void GatherReducedBlocks(LocalCall& self, std::span<LocalCall* const> calls) {
  for (const LocalCall* peer : calls) {
    if (peer == &self) continue;
    const CommBlock block = BalancedBlock(self.in.count, static_cast<int64_t>(calls.size()), peer->rank);
    const int64_t bytes = block.count * SizeOf(self.in.dtype);
    CopyBytes(At(self.out, block.first), At(peer->out, block.first), bytes);
    self.wire += bytes;
  }
}

void AllReducePhase(int phase, LocalCall& self, std::span<LocalCall* const> calls) {
  if (phase == 1) return GatherReducedBlocks(self, calls);
  const CommBlock own = BalancedBlock(self.in.count, static_cast<int64_t>(calls.size()), self.rank);
  ReduceFromAll(self, calls, own, At(self.out, own.first));
}

void GatherBlocks(LocalCall& self, std::span<LocalCall* const> calls) {
  int64_t first = 0;
  for (const LocalCall* peer : calls) {
    CopyBytes(At(self.out, first), peer->in.data, peer->in.bytes());
    if (peer != &self) self.wire += peer->in.bytes();
    first += self.counts[peer->rank];
  }
}

void CopyFromRoot(LocalCall& self, std::span<LocalCall* const> calls) {
  CopyBytes(self.out.data, calls[self.root]->in.data, self.out.bytes());
  if (self.rank != self.root) self.wire += self.out.bytes();
}

void ScatterBlocks(LocalCall& self, std::span<LocalCall* const> calls) {
  for (LocalCall* peer : calls) {
    const CommBlock block = CountedBlock(self.counts, peer->rank);
    const CommBlock place = CountedBlock(peer->receive_counts, self.rank);
    const int64_t bytes = block.count * SizeOf(self.in.dtype);
    CopyBytes(At(peer->out, place.first), At(self.in, block.first), bytes);
    if (peer != &self) self.wire += bytes;
  }
}

}  // namespace

int Phases(CommOperation operation) { return operation == CommOperation::kAllReduce ? 2 : 1; }

void RunPhase(int phase, LocalCall& self, std::span<LocalCall* const> calls) {
  switch (self.operation) {
    case CommOperation::kAllReduce:
      return AllReducePhase(phase, self, calls);
    case CommOperation::kAllGather:
      return GatherBlocks(self, calls);
    case CommOperation::kReduceScatter:
      return ReduceFromAll(self, calls, CountedBlock(self.counts, self.rank), self.out.data);
    case CommOperation::kBroadcast:
      return CopyFromRoot(self, calls);
    case CommOperation::kReduce:
      if (self.rank == self.root) ReduceFromAll(self, calls, {0, self.in.count}, self.out.data);
      return;
    case CommOperation::kAllToAll:
      return ScatterBlocks(self, calls);
    case CommOperation::kSendReceive:
      return;  // pairs meet by themselves
  }
}

}  // namespace partita
