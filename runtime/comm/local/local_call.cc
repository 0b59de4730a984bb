#include "runtime/comm/local/local_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/comm/local/local_reduce.h"

namespace partita {
namespace {

int64_t Sum(std::span<const int64_t> counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

char* At(const Buffer& buffer, int64_t element) {
  return static_cast<char*>(buffer.data) + element * SizeOf(buffer.dtype);
}

const char* At(const ConstBuffer& buffer, int64_t element) {
  return static_cast<const char*>(buffer.data) + element * SizeOf(buffer.dtype);
}

struct Block {
  int64_t first = 0;
  int64_t count = 0;
};

// Block `rank` of n elements in balanced blocks: the first n mod p have one more.
Block BalancedBlock(int64_t n, int64_t p, int64_t rank) {
  const int64_t rest = n % p;
  return {rank * (n / p) + std::min(rank, rest), n / p + (rank < rest ? 1 : 0)};
}

Block CountedBlock(const std::vector<int64_t>& counts, int rank) {
  return {Sum(std::span(counts).first(rank)), counts[rank]};
}

// Reduces elements [first, first + count) of all inputs into `to`; all but self's own had to come from a peer.
void ReduceFromAll(LocalCall& self, std::span<LocalCall* const> calls, Block block, void* to) {
  ReduceElements(self.reduction, self.in.dtype, calls, block.first, block.count, to);
  self.wire += static_cast<int64_t>(calls.size() - 1) * block.count * SizeOf(self.in.dtype);
}

void GatherReducedBlocks(LocalCall& self, std::span<LocalCall* const> calls) {
  for (const LocalCall* peer : calls) {
    if (peer == &self) continue;
    const Block block = BalancedBlock(self.in.count, static_cast<int64_t>(calls.size()), peer->rank);
    const int64_t bytes = block.count * SizeOf(self.in.dtype);
    CopyBytes(At(self.out, block.first), At(peer->out, block.first), bytes);
    self.wire += bytes;
  }
}

void AllReducePhase(int phase, LocalCall& self, std::span<LocalCall* const> calls) {
  if (phase == 1) return GatherReducedBlocks(self, calls);
  const Block own = BalancedBlock(self.in.count, static_cast<int64_t>(calls.size()), self.rank);
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
    const Block block = CountedBlock(self.counts, peer->rank);
    const Block place = CountedBlock(peer->receive_counts, self.rank);
    const int64_t bytes = block.count * SizeOf(self.in.dtype);
    CopyBytes(At(peer->out, place.first), At(self.in, block.first), bytes);
    if (peer != &self) self.wire += bytes;
  }
}

}  // namespace

const char* Name(CommOperation operation) {
  switch (operation) {
    case CommOperation::kAllReduce:
      return "all_reduce";
    case CommOperation::kAllGather:
      return "all_gather";
    case CommOperation::kReduceScatter:
      return "reduce_scatter";
    case CommOperation::kBroadcast:
      return "broadcast";
    case CommOperation::kReduce:
      return "reduce";
    case CommOperation::kAllToAll:
      return "all_to_all";
    case CommOperation::kSendReceive:
      return "send_receive";
  }
  return "?";
}

LocalPair* LocalCall::FindPair(int peer) {
  const auto pair = std::ranges::find(pairs, peer, &LocalPair::peer);
  return pair == pairs.end() ? nullptr : &*pair;
}

std::string LocalCall::Describe() const {
  const char* const name = Name(operation);
  const char* const dtype = Name(in.dtype);
  switch (operation) {
    case CommOperation::kAllReduce:
      return fmt::format("{} of {} {} ({})", name, in.count, dtype, Name(reduction));
    case CommOperation::kAllGather:
      return fmt::format("{} of [{}] {}", name, fmt::join(counts, ","), dtype);
    case CommOperation::kReduceScatter:
      return fmt::format("{} of [{}] {} ({})", name, fmt::join(counts, ","), dtype, Name(reduction));
    case CommOperation::kBroadcast:
      return fmt::format("{} of {} {} from {}", name, out.count, Name(out.dtype), root);
    case CommOperation::kReduce:
      return fmt::format("{} of {} {} ({}) to {}", name, in.count, dtype, Name(reduction), root);
    case CommOperation::kAllToAll:
      return fmt::format("{} of [{}] to [{}] {}", name, fmt::join(counts, ","), fmt::join(receive_counts, ","), dtype);
    case CommOperation::kSendReceive: {
      std::vector<int> peers;
      for (const LocalPair& pair : pairs) peers.push_back(pair.peer);
      return fmt::format("{} with [{}]", name, fmt::join(peers, ","));
    }
  }
  return name;
}

int64_t LocalCall::FullBytes() const {
  switch (operation) {
    case CommOperation::kAllReduce:
    case CommOperation::kReduceScatter:
    case CommOperation::kReduce:
      return in.bytes();
    case CommOperation::kAllGather:
    case CommOperation::kBroadcast:
      return out.bytes();
    case CommOperation::kAllToAll:
    case CommOperation::kSendReceive:
      return 0;  // their payload is what they send
  }
  return 0;
}

std::string FindMismatch(const LocalCall& a, const LocalCall& b) {
  if (a.operation != b.operation) return "different operations";
  const bool broadcast = a.operation == CommOperation::kBroadcast;
  if (broadcast ? a.out.dtype != b.out.dtype : a.in.dtype != b.in.dtype) return "different types";
  switch (a.operation) {
    case CommOperation::kAllToAll:
      if (a.counts[b.rank] != b.receive_counts[a.rank] || b.counts[a.rank] != a.receive_counts[b.rank]) {
        return "one sends what the other does not receive";
      }
      return "";
    case CommOperation::kAllGather:
    case CommOperation::kReduceScatter:
      if (a.counts != b.counts) return "different counts";
      break;
    case CommOperation::kBroadcast:
      if (a.out.count != b.out.count) return "different counts";
      break;
    default:
      if (a.in.count != b.in.count) return "different counts";
  }
  if (a.root != b.root) return "different roots";
  return a.reduction == b.reduction ? "" : "different reductions";
}

std::string FindMismatch(const LocalPair& a, const LocalPair& b) {
  const auto one_way = [](const std::vector<ConstBuffer>& sent, const std::vector<Buffer>& received) -> std::string {
    if (sent.size() != received.size()) return fmt::format("{} blocks sent, {} received", sent.size(), received.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].count != received[i].count || sent[i].dtype != received[i].dtype) {
        return fmt::format("block {}: {} {} sent, {} {} received", i, sent[i].count, Name(sent[i].dtype),
                           received[i].count, Name(received[i].dtype));
      }
    }
    return "";
  };
  const std::string forth = one_way(a.sent, b.received);
  return forth.empty() ? one_way(b.sent, a.received) : forth;
}

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

int64_t CopyBlocks(const LocalPair& from, const LocalPair& to) {
  int64_t bytes = 0;
  for (size_t i = 0; i < from.sent.size(); ++i) {
    CopyBytes(to.received[i].data, from.sent[i].data, from.sent[i].bytes());
    bytes += from.sent[i].bytes();
  }
  return bytes;
}

void CopyBytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace partita
