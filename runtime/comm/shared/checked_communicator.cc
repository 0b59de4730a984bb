#include "runtime/comm/shared/checked_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"
#include "runtime/device/strided_copy.h"

namespace partita {
namespace {

int64_t Total(std::span<const int64_t> counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

bool TakesCounts(CollectiveKind kind) { return kind != CollectiveKind::kAllReduce && !HasRoot(kind); }

bool HasUnusedFields(const Collective& collective) {
  const auto& [kind, reduction, root, counts, receive_counts, sent, received] = collective;
  const bool of_all_to_all = !receive_counts.empty() || !sent.empty() || !received.empty();
  return (!counts.empty() && !TakesCounts(kind)) || (of_all_to_all && kind != CollectiveKind::kAllToAll);
}

}  // namespace

absl::Status CheckGroup(int group_id, std::span<const int> ranks, int rank, int world) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  if (ranks.empty() || twice || sorted.front() < 0 || sorted.back() >= world) {
    return InvalidArgument("group {}: ranks [{}], expected different ones of 0..{}", group_id, fmt::join(ranks, ","),
                           world - 1);
  }
  if (std::ranges::find(ranks, rank) != ranks.end()) return absl::OkStatus();
  return InvalidArgument("group {}: rank {} is not among [{}]", group_id, rank, fmt::join(ranks, ","));
}

void CheckedCommunicator::Count(const CommCall& call) {
  const int64_t payload = call.kind == CollectiveKind::kAllToAll ? call.wire
                          : call.rank == 0                       ? call.CommonCount() * SizeOf(call.in.dtype)
                                                                 : 0;
  calls_.fetch_add(1, std::memory_order_relaxed);
  payload_.fetch_add(payload, std::memory_order_relaxed);
  wire_.fetch_add(call.wire, std::memory_order_relaxed);
  if (call.waited == 0) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  wait_cycles_.fetch_add(call.waited, std::memory_order_relaxed);
}

absl::Status CheckedCommunicator::CheckBuffer(const char* name, const ConstBuffer& buffer, int64_t count) const {
  if (buffer.count < 0) return InvalidArgument("rank {}: {} has {} elements", rank_, name, buffer.count);
  if (buffer.count != count) {
    return InvalidArgument("rank {}: {} has {} elements, expected {}", rank_, name, buffer.count, count);
  }
  if (buffer.data == nullptr && count > 0) return InvalidArgument("rank {}: {} is null", rank_, name);
  return absl::OkStatus();
}

absl::Status CheckedCommunicator::CheckCounts(const char* name, std::span<const int64_t> counts) const {
  const bool negative = std::ranges::any_of(counts, [](int64_t count) { return count < 0; });
  if (!negative && static_cast<int>(counts.size()) == size()) return absl::OkStatus();
  return InvalidArgument("rank {}: {} = [{}], expected one count >= 0 for each of {} ranks", rank_, name,
                         fmt::join(counts, ","), size());
}

absl::Status CheckedCommunicator::CheckTypes(const CommCall& call) const {
  if (call.in.dtype != call.out.dtype) {
    return InvalidArgument("rank {}: in is {}, out is {}", rank_, Name(call.in.dtype), Name(call.out.dtype));
  }
  if (!Reduces(call.kind) || call.in.dtype != DType::kU8) return absl::OkStatus();
  return InvalidArgument("rank {}: cannot reduce {}, only f32, f64, bf16 and i32", rank_, Name(call.in.dtype));
}

absl::Status CheckedCommunicator::CheckBlocks(const char* name, const ConstBuffer& buffer,
                                              std::span<const StridedBlock> blocks) const {
  if (static_cast<int>(blocks.size()) != size()) {
    return InvalidArgument("rank {}: {} blocks {}, expected one for each of {} ranks", rank_, blocks.size(), name,
                           size());
  }
  for (const StridedBlock& block : blocks) {
    int64_t last = block.begin;
    bool sound = block.begin >= 0 && block.dimensions.size() <= StridedCopy::kMostDimensions;
    for (const StridedBlock::Dimension& dimension : block.dimensions) {
      sound = sound && dimension.size >= 0 && dimension.stride >= 0;
      last += (dimension.size - 1) * dimension.stride;
    }
    if (sound && (block.count() == 0 || last < buffer.count)) continue;
    return InvalidArgument("rank {}: a block {} from element {} to {} is not inside {} elements", rank_, name,
                           block.begin, last, buffer.count);
  }
  return CheckBuffer(name, buffer, buffer.count);
}

// Checks the blocks of an all_to_all and sets its counts from them.
absl::Status CheckedCommunicator::CountBlocks(CommCall& call) const {
  if (!moves_blocks()) {
    return absl::UnimplementedError(
        fmt::format("rank {}: this communicator moves no blocks that are not packed", rank_));
  }
  RETURN_IF_ERROR(CheckBlocks("sent", call.in, call.sent));
  RETURN_IF_ERROR(CheckBlocks("received", call.out, call.received));
  call.counts.clear();
  call.receive_counts.clear();
  for (const StridedBlock& block : call.sent) call.counts.push_back(block.count());
  for (const StridedBlock& block : call.received) call.receive_counts.push_back(block.count());
  return absl::OkStatus();
}

// Counts, and buffers with as many elements.
absl::Status CheckedCommunicator::CheckOperands(const CommCall& call) const {
  const bool is_root = rank_ == call.root;
  int64_t in = call.in.count, out = call.in.count;
  if (TakesCounts(call.kind)) RETURN_IF_ERROR(CheckCounts("counts", call.counts));
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      break;
    case CollectiveKind::kBroadcast:
      out = call.out.count;
      in = is_root ? out : 0;
      break;
    case CollectiveKind::kReduce:
      out = is_root ? in : 0;
      break;
    case CollectiveKind::kAllGather:
      in = call.counts[rank_];
      out = Total(call.counts);
      break;
    case CollectiveKind::kReduceScatter:
      in = Total(call.counts);
      out = call.counts[rank_];
      break;
    case CollectiveKind::kAllToAll:
      RETURN_IF_ERROR(CheckCounts("receive_counts", call.receive_counts));
      in = Total(call.counts);
      out = Total(call.receive_counts);
      break;
  }
  RETURN_IF_ERROR(CheckBuffer("in", call.in, in));
  return CheckBuffer("out", call.out, out);
}

absl::Status CheckedCommunicator::Enqueue(const Collective& collective, ConstBuffer in, Buffer out, Stream& stream) {
  if (HasUnusedFields(collective)) {
    return InvalidArgument("rank {}: {} has counts or blocks that it does not use", rank_, Name(collective.kind));
  }
  std::unique_ptr<CommCall> call = NewCall();
  static_cast<Collective&>(*call) = collective;
  call->rank = rank_;
  call->in = in;
  call->out = out;
  if (HasRoot(call->kind)) {
    if (call->root < 0 || call->root >= size_) {
      return InvalidArgument("rank {}: root {} is not among the {} ranks of the group", rank_, call->root, size_);
    }
    // Only the root has both operands.
    const bool broadcast = call->kind == CollectiveKind::kBroadcast;
    if (rank_ != call->root && broadcast) call->in = {nullptr, 0, out.dtype};
    if (rank_ != call->root && !broadcast) call->out = {nullptr, 0, in.dtype};
  }
  RETURN_IF_ERROR(CheckTypes(*call));
  if (call->sent.empty() && call->received.empty()) {
    RETURN_IF_ERROR(CheckOperands(*call));
  } else {
    RETURN_IF_ERROR(CountBlocks(*call));
  }
  if (call->kind == CollectiveKind::kAllToAll) {
    const std::string why = FindMismatch(*call, *call);
    if (!why.empty()) {
      return InvalidArgument("rank {}: the block to itself: {}: {} elements sent, {} received", rank_, why,
                             call->counts[rank_], call->receive_counts[rank_]);
    }
  }
  RETURN_IF_ERROR(CheckStream(call->kind, stream));
  return EnqueueCall(std::move(call), stream);
}

CommBytes CheckedCommunicator::bytes() const {
  CommBytes bytes;
  bytes.payload = payload_.load(std::memory_order_relaxed);
  bytes.wire = wire_.load(std::memory_order_relaxed);
  bytes.calls = calls_.load(std::memory_order_relaxed);
  bytes.waits = waits_.load(std::memory_order_relaxed);
  const auto cycles = static_cast<double>(wait_cycles_.load(std::memory_order_relaxed));
  bytes.wait_seconds = cycles * SecondsPerCycle();
  return bytes;
}

}  // namespace partita
