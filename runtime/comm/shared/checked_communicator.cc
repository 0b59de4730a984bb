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
  const int64_t payload = call.operation == CommOperation::kAllToAll ? call.wire
                          : call.rank == 0                           ? call.FullBytes()
                                                                     : 0;
  calls_.fetch_add(1, std::memory_order_relaxed);
  payload_.fetch_add(payload, std::memory_order_relaxed);
  wire_.fetch_add(call.wire, std::memory_order_relaxed);
  if (call.waited == 0) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  wait_cycles_.fetch_add(call.waited, std::memory_order_relaxed);
}

absl::StatusOr<std::unique_ptr<CommCall>> CheckedCommunicator::Begin(CommOperation operation,
                                                                     const Stream& stream) const {
  RETURN_IF_ERROR(CheckStream(operation, stream));
  std::unique_ptr<CommCall> call = NewCall();
  call->operation = operation;
  call->rank = rank_;
  return call;
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

absl::Status CheckedCommunicator::CheckReducible(DType dtype) const {
  if (dtype != DType::kU8) return absl::OkStatus();
  return InvalidArgument("rank {}: cannot reduce {}, only f32, f64, bf16 and i32", rank_, Name(dtype));
}

absl::Status CheckedCommunicator::CheckSameType(DType in, DType out) const {
  if (in == out) return absl::OkStatus();
  return InvalidArgument("rank {}: in is {}, out is {}", rank_, Name(in), Name(out));
}

absl::Status CheckedCommunicator::CheckRank(const char* name, int rank) const {
  if (rank >= 0 && rank < size()) return absl::OkStatus();
  return InvalidArgument("rank {}: {} {} is not among the {} ranks of the group", rank_, name, rank, size());
}

absl::Status CheckedCommunicator::AllReduce(ConstBuffer in, Buffer out, Reduction reduction, Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckBuffer("in", in, in.count));
  RETURN_IF_ERROR(CheckBuffer("out", out, in.count));
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kAllReduce, stream));
  call->in = in;
  call->out = out;
  call->reduction = reduction;
  return Enqueue(std::move(call), stream);
}

absl::Status CheckedCommunicator::AllGather(ConstBuffer in, Buffer out, std::span<const int64_t> counts,
                                            Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckCounts("counts", counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, counts[rank_]));
  RETURN_IF_ERROR(CheckBuffer("out", out, Total(counts)));
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kAllGather, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(counts.begin(), counts.end());
  return Enqueue(std::move(call), stream);
}

absl::Status CheckedCommunicator::ReduceScatter(ConstBuffer in, Buffer out, std::span<const int64_t> counts,
                                                Reduction reduction, Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckCounts("counts", counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, Total(counts)));
  RETURN_IF_ERROR(CheckBuffer("out", out, counts[rank_]));
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kReduceScatter, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(counts.begin(), counts.end());
  call->reduction = reduction;
  return Enqueue(std::move(call), stream);
}

absl::Status CheckedCommunicator::Broadcast(ConstBuffer in, Buffer out, int root, Stream& stream) {
  RETURN_IF_ERROR(CheckRank("root", root));
  RETURN_IF_ERROR(CheckBuffer("out", out, out.count));
  if (rank_ == root) {
    RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
    RETURN_IF_ERROR(CheckBuffer("in", in, out.count));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kBroadcast, stream));
  if (rank_ == root) call->in = in;
  call->out = out;
  call->root = root;
  return Enqueue(std::move(call), stream);
}

absl::Status CheckedCommunicator::Reduce(ConstBuffer in, Buffer out, int root, Reduction reduction, Stream& stream) {
  RETURN_IF_ERROR(CheckRank("root", root));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckBuffer("in", in, in.count));
  if (rank_ == root) {
    RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
    RETURN_IF_ERROR(CheckBuffer("out", out, in.count));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kReduce, stream));
  call->in = in;
  if (rank_ == root) call->out = out;
  call->root = root;
  call->reduction = reduction;
  return Enqueue(std::move(call), stream);
}

absl::Status CheckedCommunicator::AllToAll(ConstBuffer in, std::span<const int64_t> send_counts, Buffer out,
                                           std::span<const int64_t> receive_counts, Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckCounts("send_counts", send_counts));
  RETURN_IF_ERROR(CheckCounts("receive_counts", receive_counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, Total(send_counts)));
  RETURN_IF_ERROR(CheckBuffer("out", out, Total(receive_counts)));
  if (send_counts[rank_] != receive_counts[rank_]) {
    return InvalidArgument("rank {}: sends {} elements to itself, receives {}", rank_, send_counts[rank_],
                           receive_counts[rank_]);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kAllToAll, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(send_counts.begin(), send_counts.end());
  call->receive_counts.assign(receive_counts.begin(), receive_counts.end());
  return Enqueue(std::move(call), stream);
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

absl::Status CheckedCommunicator::AllToAllBlocks(ConstBuffer in, std::span<const StridedBlock> sent, Buffer out,
                                                 std::span<const StridedBlock> received, Stream& stream) {
  if (!moves_blocks()) {
    return absl::UnimplementedError(
        fmt::format("rank {}: this communicator moves no blocks that are not packed", rank_));
  }
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckBlocks("sent", in, sent));
  RETURN_IF_ERROR(CheckBlocks("received", out, received));
  ASSIGN_OR_RETURN(std::unique_ptr<CommCall> call, Begin(CommOperation::kAllToAll, stream));
  call->in = in;
  call->out = out;
  for (const StridedBlock& block : sent) call->counts.push_back(block.count());
  for (const StridedBlock& block : received) call->receive_counts.push_back(block.count());
  call->sent.assign(sent.begin(), sent.end());
  call->received.assign(received.begin(), received.end());
  const std::string why = FindMismatch(*call, *call);
  if (!why.empty()) return InvalidArgument("rank {}: the block to itself: {}", rank_, why);
  return Enqueue(std::move(call), stream);
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
