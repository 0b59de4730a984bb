// An all_reduce that the embedding program makes (peer_channel.h).
//
// Only sums are left to it: the maximum of a number and a NaN, which must be NaN here, is not defined in MPI. Its wire
// bytes are those that the ranks would have sent each other, because the program does not report its own.
#include "runtime/base/status.h"
#include "runtime/comm/processes/block_call.h"
#include "runtime/device/cycle_clock.h"

namespace partita {

bool BlockCall::LeaveToProgram(const PeerChannel* channel, int group, std::span<const int> ranks) {
  const bool is_sum = kind == CollectiveKind::kAllReduce && reduction == Reduction::kSum;
  const bool is_known = in.dtype == DType::kF32 || in.dtype == DType::kF64 || in.dtype == DType::kI32;
  if (channel == nullptr || !channel->all_reduce || !is_sum || !is_known || ranks.size() == 1 || in.count == 0) {
    return false;
  }
  channel_ = channel;
  group_ = group;
  ranks_ = ranks;
  return true;
}

absl::Status BlockCall::ReduceByProgram() {
  awaited.store(kAll, std::memory_order_relaxed);
  SetWaiting(true);
  const uint64_t begin = ReadCycles();
  const bool done = channel_->all_reduce({group_, ranks_, reduction, in.dtype, in.count, in.data, out.data});
  waited += ReadCycles() - begin;  // the adding too
  SetWaiting(false);
  awaited.store(kNone, std::memory_order_relaxed);
  if (!done) {
    return Unavailable("rank {}: the program's all_reduce failed: group {}: {}, sequence number {}", ranks_[rank],
                       group_, Describe(), sequence);
  }
  wire = WireBytes(size());
  return absl::OkStatus();
}

}  // namespace partita
