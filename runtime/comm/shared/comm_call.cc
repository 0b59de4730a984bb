#include "runtime/comm/shared/comm_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace partita {

std::string CommCall::Describe() const {
  std::string text = counts.empty() ? fmt::format("{} of {}", Name(kind), CommonCount())
                                    : fmt::format("{} of [{}]", Name(kind), fmt::join(counts, ","));
  if (kind == CollectiveKind::kAllToAll) text += fmt::format(" to [{}]", fmt::join(receive_counts, ","));
  text += fmt::format(" {}", Name(in.dtype));
  if (Reduces(kind)) text += fmt::format(" ({})", Name(reduction));
  if (HasRoot(kind)) text += fmt::format(" {} {}", Reduces(kind) ? "to" : "from", root);
  return text;
}

int64_t CommCall::CommonCount() const {
  if (kind == CollectiveKind::kAllToAll) return -1;
  if (!counts.empty()) return std::accumulate(counts.begin(), counts.end(), int64_t{0});
  return kind == CollectiveKind::kBroadcast ? out.count : in.count;
}

int64_t CommCall::WireBytes(int64_t size) const {
  const int64_t peers = size - 1;
  const auto but_own = [this](const std::vector<int64_t>& all) {
    return std::accumulate(all.begin(), all.end(), int64_t{0}) - all[rank];
  };
  switch (kind) {
    case CollectiveKind::kAllReduce: {
      const int64_t own = BalancedRange(in.count, size, rank).count;
      return (peers * own + in.count - own) * SizeOf(in.dtype);
    }
    case CollectiveKind::kReduceScatter:
      return peers * counts[rank] * SizeOf(in.dtype);
    case CollectiveKind::kReduce:
      return rank == root ? peers * in.bytes() : 0;
    case CollectiveKind::kBroadcast:
      return rank == root ? 0 : out.bytes();
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return but_own(counts) * SizeOf(in.dtype);
  }
  return 0;
}

namespace {

bool HaveEqualSizes(const StridedBlock& a, const StridedBlock& b) {
  return std::ranges::equal(a.dimensions, b.dimensions, {}, &StridedBlock::Dimension::size,
                            &StridedBlock::Dimension::size);
}

// Of blocks that have as many elements.
bool HaveEqualBlocks(const CommCall& from, const CommCall& to) {
  if (from.sent.empty() || to.received.empty()) return from.sent.empty() == to.received.empty();
  return from.counts[to.rank] == 0 || HaveEqualSizes(from.sent[to.rank], to.received[from.rank]);
}

}  // namespace

std::string FindMismatch(const CommCall& a, const CommCall& b) {
  if (a.kind != b.kind) return "different operations";
  if (a.in.dtype != b.in.dtype) return "different types";
  if (a.kind == CollectiveKind::kAllToAll) {
    if (a.counts[b.rank] != b.receive_counts[a.rank] || b.counts[a.rank] != a.receive_counts[b.rank]) {
      return "one sends what the other does not receive";
    }
    return HaveEqualBlocks(a, b) && HaveEqualBlocks(b, a) ? "" : "blocks of different shapes";
  }
  if (a.counts != b.counts || a.CommonCount() != b.CommonCount()) return "different counts";
  if (a.root != b.root) return "different roots";
  return a.reduction == b.reduction ? "" : "different reductions";
}

std::string MismatchMessage(int group, const std::string& why, const NamedCall& a, const NamedCall& b) {
  const NamedCall& first = a.rank <= b.rank ? a : b;
  const NamedCall& second = a.rank <= b.rank ? b : a;
  return fmt::format("group {}: {}: rank {} calls {} (sequence number {}), rank {} calls {} (sequence number {})",
                     group, why, first.rank, first.description, first.sequence, second.rank, second.description,
                     second.sequence);
}

ElementRange BalancedRange(int64_t n, int64_t p, int64_t rank) {
  const int64_t rest = n % p;
  return {rank * (n / p) + std::min(rank, rest), n / p + (rank < rest ? 1 : 0)};
}

ElementRange CountedRange(std::span<const int64_t> counts, int rank) {
  const auto before = counts.first(static_cast<size_t>(rank));
  return {std::accumulate(before.begin(), before.end(), int64_t{0}), counts[rank]};
}

int64_t SetBlockCopy(const CommCall& from, const CommCall& to, int part, int parts, StridedCopy& copy) {
  copy.run_bytes = 0;
  if (from.counts[to.rank] == 0) return 0;
  const StridedBlock &sent = from.sent[to.rank], &received = to.received[from.rank];
  const auto& dimensions = sent.dimensions;
  ElementRange shares[StridedCopy::kMostDimensions];  // of each dimension
  int64_t mine = part, all = parts;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t size = dimensions[d].size;
    if (size >= all) {
      shares[d] = BalancedRange(size, all, mine);
      mine = 0;
      all = 1;
    } else {
      const int64_t each = all / size;
      shares[d] = {mine / each, mine / each < size ? 1 : 0};
      mine %= each;
      all = each;
    }
    if (shares[d].count == 0) return 0;
  }
  if (mine > 0) return 0;  // more parts than elements
  const int64_t element = SizeOf(from.in.dtype);
  copy.Begin(At(from.in, sent.begin), At(to.out, received.begin), element);
  int64_t bytes = element;
  for (size_t d = dimensions.size(); d-- > 0;) {
    const int64_t from_stride = dimensions[d].stride * element, to_stride = received.dimensions[d].stride * element;
    copy.from += shares[d].first * from_stride;
    copy.to += shares[d].first * to_stride;
    copy.Repeat(shares[d].count, from_stride, to_stride);
    bytes *= shares[d].count;
  }
  return bytes;
}

void CopyOwnBlock(const CommCall& call) {
  const int64_t begin = CountedRange(call.counts, call.rank).first;
  if (call.kind == CollectiveKind::kAllGather) return CopyBytes(At(call.out, begin), call.in.data, call.in.bytes());
  CopyBytes(At(call.out, CountedRange(call.receive_counts, call.rank).first), At(call.in, begin),
            call.counts[call.rank] * SizeOf(call.in.dtype));
}

void CopyBytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace partita
