#include "runtime/comm/shared/comm_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace partita {

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
  }
  return "?";
}

std::string CommCall::Describe() const {
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
  }
  return name;
}

int64_t CommCall::FullBytes() const {
  switch (operation) {
    case CommOperation::kAllReduce:
    case CommOperation::kReduceScatter:
    case CommOperation::kReduce:
      return in.bytes();
    case CommOperation::kAllGather:
    case CommOperation::kBroadcast:
      return out.bytes();
    case CommOperation::kAllToAll:
      return 0;  // its payload is what each rank sends
  }
  return 0;
}

int64_t CommCall::CommonCount() const {
  switch (operation) {
    case CommOperation::kAllReduce:
    case CommOperation::kReduce:
      return in.count;
    case CommOperation::kBroadcast:
      return out.count;
    case CommOperation::kAllGather:
    case CommOperation::kReduceScatter:
      return std::accumulate(counts.begin(), counts.end(), int64_t{0});
    case CommOperation::kAllToAll:
      return -1;
  }
  return -1;
}

int64_t CommCall::WireBytes(int64_t size) const {
  const int64_t peers = size - 1;
  const auto but_own = [this](const std::vector<int64_t>& all) {
    return std::accumulate(all.begin(), all.end(), int64_t{0}) - all[rank];
  };
  switch (operation) {
    case CommOperation::kAllReduce: {
      const int64_t own = BalancedRange(in.count, size, rank).count;
      return (peers * own + in.count - own) * SizeOf(in.dtype);
    }
    case CommOperation::kReduceScatter:
      return peers * counts[rank] * SizeOf(in.dtype);
    case CommOperation::kReduce:
      return rank == root ? peers * in.bytes() : 0;
    case CommOperation::kBroadcast:
      return rank == root ? 0 : out.bytes();
    case CommOperation::kAllGather:
    case CommOperation::kAllToAll:
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
  if (a.operation != b.operation) return "different operations";
  const bool broadcast = a.operation == CommOperation::kBroadcast;
  if (broadcast ? a.out.dtype != b.out.dtype : a.in.dtype != b.in.dtype) return "different types";
  switch (a.operation) {
    case CommOperation::kAllToAll:
      if (a.counts[b.rank] != b.receive_counts[a.rank] || b.counts[a.rank] != a.receive_counts[b.rank]) {
        return "one sends what the other does not receive";
      }
      return HaveEqualBlocks(a, b) && HaveEqualBlocks(b, a) ? "" : "blocks of different shapes";
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

void CopyBytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace partita
