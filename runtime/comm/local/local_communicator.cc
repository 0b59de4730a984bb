#include "runtime/comm/local/local_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_call.h"
#include "runtime/comm/local/local_group.h"
#include "runtime/device/cycle_clock.h"
#include "runtime/device/host/host_stream.h"

namespace partita {

struct LocalWorldState {
  explicit LocalWorldState(int ranks) : ranks(ranks) {}

  void Abort(const absl::Status& status) {
    std::lock_guard lock(mutex);
    if (!aborted.ok()) return;
    aborted = status;
    for (auto& [id, group] : groups) group->Abort(status);
  }

  const int ranks;
  std::mutex mutex;  // taken before a group's
  std::map<int, std::unique_ptr<LocalGroup>> groups;
  absl::Status aborted;
};

namespace {

using Counts = std::span<const int64_t>;

absl::Status RunCall(void* argument) {
  auto& call = *static_cast<LocalCall*>(argument);
  absl::Status status = call.group->Run(call);
  call.finished.store(true, std::memory_order_release);
  return status;
}

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalWorldState> world, LocalGroup* group, int rank)
      : world_(std::move(world)), group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->ranks().size()); }

  absl::Status AllReduce(ConstBuffer in, Buffer out, Reduction reduction, Stream& stream) override;
  absl::Status AllGather(ConstBuffer in, Buffer out, Counts counts, Stream& stream) override;
  absl::Status ReduceScatter(ConstBuffer in, Buffer out, Counts counts, Reduction reduction, Stream& stream) override;
  absl::Status Broadcast(ConstBuffer in, Buffer out, int root, Stream& stream) override;
  absl::Status Reduce(ConstBuffer in, Buffer out, int root, Reduction reduction, Stream& stream) override;
  absl::Status AllToAll(ConstBuffer in, Counts send_counts, Buffer out, Counts receive_counts, Stream& stream) override;
  absl::Status SendReceive(std::span<const Transfer> transfers, Stream& stream) override;
  CommBytes bytes() const override;

 private:
  absl::Status CheckBuffer(const char* name, const ConstBuffer& buffer, int64_t count) const;
  absl::Status CheckCounts(const char* name, Counts counts) const;
  absl::Status CheckReducible(DType dtype) const;
  absl::Status CheckSameType(DType in, DType out) const;
  absl::Status CheckRank(const char* name, int rank) const;
  absl::Status SortTransfers(std::span<const Transfer> transfers, std::vector<LocalPair>& pairs, LocalPair& self) const;
  absl::StatusOr<LocalCall*> NewCall(CommOperation operation, const Stream& stream);
  absl::Status Enqueue(LocalCall* call, Stream& stream);

  const std::shared_ptr<LocalWorldState> world_;
  LocalGroup* const group_;
  const int rank_;
  LocalCounters counters_;
  std::deque<LocalCall> captured_;  // the arguments of tasks that may be replayed at any time
  std::list<LocalCall> once_;       // of the others, until they have run
};

int64_t Total(Counts counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

absl::Status LocalCommunicator::CheckBuffer(const char* name, const ConstBuffer& buffer, int64_t count) const {
  if (buffer.count < 0) return InvalidArgument("rank {}: {} has {} elements", rank_, name, buffer.count);
  if (buffer.count != count) {
    return InvalidArgument("rank {}: {} has {} elements, expected {}", rank_, name, buffer.count, count);
  }
  if (buffer.data == nullptr && count > 0) return InvalidArgument("rank {}: {} is null", rank_, name);
  return absl::OkStatus();
}

absl::Status LocalCommunicator::CheckCounts(const char* name, Counts counts) const {
  const bool negative = std::ranges::any_of(counts, [](int64_t count) { return count < 0; });
  if (!negative && static_cast<int>(counts.size()) == size()) return absl::OkStatus();
  return InvalidArgument("rank {}: {} = [{}], expected one count >= 0 for each of {} ranks", rank_, name,
                         fmt::join(counts, ","), size());
}

absl::Status LocalCommunicator::CheckReducible(DType dtype) const {
  if (dtype != DType::kU8) return absl::OkStatus();
  return InvalidArgument("rank {}: cannot reduce {}, only f32, f64 and i32", rank_, Name(dtype));
}

absl::Status LocalCommunicator::CheckSameType(DType in, DType out) const {
  if (in == out) return absl::OkStatus();
  return InvalidArgument("rank {}: in is {}, out is {}", rank_, Name(in), Name(out));
}

absl::Status LocalCommunicator::CheckRank(const char* name, int rank) const {
  if (rank >= 0 && rank < size()) return absl::OkStatus();
  return InvalidArgument("rank {}: {} {} is not among the {} ranks of the group", rank_, name, rank, size());
}

absl::StatusOr<LocalCall*> LocalCommunicator::NewCall(CommOperation operation, const Stream& stream) {
  const auto* const host_stream = dynamic_cast<const HostStream*>(&stream);
  if (host_stream == nullptr) {
    return InvalidArgument("{}: stream '{}' is not of the host device", Name(operation), stream.name());
  }
  once_.remove_if([](const LocalCall& call) { return call.finished.load(std::memory_order_acquire); });
  LocalCall& call = host_stream->capturing() ? captured_.emplace_back() : once_.emplace_back();
  call.group = group_;
  call.counters = &counters_;
  call.operation = operation;
  call.rank = rank_;
  return &call;
}

absl::Status LocalCommunicator::Enqueue(LocalCall* call, Stream& stream) {
  return static_cast<HostStream&>(stream).Enqueue({RunCall, call});
}

absl::Status LocalCommunicator::AllReduce(ConstBuffer in, Buffer out, Reduction reduction, Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckBuffer("in", in, in.count));
  RETURN_IF_ERROR(CheckBuffer("out", out, in.count));
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kAllReduce, stream));
  call->in = in;
  call->out = out;
  call->reduction = reduction;
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::AllGather(ConstBuffer in, Buffer out, Counts counts, Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckCounts("counts", counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, counts[rank_]));
  RETURN_IF_ERROR(CheckBuffer("out", out, Total(counts)));
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kAllGather, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(counts.begin(), counts.end());
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::ReduceScatter(ConstBuffer in, Buffer out, Counts counts, Reduction reduction,
                                              Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckCounts("counts", counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, Total(counts)));
  RETURN_IF_ERROR(CheckBuffer("out", out, counts[rank_]));
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kReduceScatter, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(counts.begin(), counts.end());
  call->reduction = reduction;
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::Broadcast(ConstBuffer in, Buffer out, int root, Stream& stream) {
  RETURN_IF_ERROR(CheckRank("root", root));
  RETURN_IF_ERROR(CheckBuffer("out", out, out.count));
  if (rank_ == root) {
    RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
    RETURN_IF_ERROR(CheckBuffer("in", in, out.count));
  }
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kBroadcast, stream));
  if (rank_ == root) call->in = in;
  call->out = out;
  call->root = root;
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::Reduce(ConstBuffer in, Buffer out, int root, Reduction reduction, Stream& stream) {
  RETURN_IF_ERROR(CheckRank("root", root));
  RETURN_IF_ERROR(CheckReducible(in.dtype));
  RETURN_IF_ERROR(CheckBuffer("in", in, in.count));
  if (rank_ == root) {
    RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
    RETURN_IF_ERROR(CheckBuffer("out", out, in.count));
  }
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kReduce, stream));
  call->in = in;
  if (rank_ == root) call->out = out;
  call->root = root;
  call->reduction = reduction;
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::AllToAll(ConstBuffer in, Counts send_counts, Buffer out, Counts receive_counts,
                                         Stream& stream) {
  RETURN_IF_ERROR(CheckSameType(in.dtype, out.dtype));
  RETURN_IF_ERROR(CheckCounts("send_counts", send_counts));
  RETURN_IF_ERROR(CheckCounts("receive_counts", receive_counts));
  RETURN_IF_ERROR(CheckBuffer("in", in, Total(send_counts)));
  RETURN_IF_ERROR(CheckBuffer("out", out, Total(receive_counts)));
  if (send_counts[rank_] != receive_counts[rank_]) {
    return InvalidArgument("rank {}: sends {} elements to itself, receives {}", rank_, send_counts[rank_],
                           receive_counts[rank_]);
  }
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kAllToAll, stream));
  call->in = in;
  call->out = out;
  call->counts.assign(send_counts.begin(), send_counts.end());
  call->receive_counts.assign(receive_counts.begin(), receive_counts.end());
  return Enqueue(call, stream);
}

absl::Status LocalCommunicator::SortTransfers(std::span<const Transfer> transfers, std::vector<LocalPair>& pairs,
                                              LocalPair& self) const {
  self.peer = rank_;
  for (const Transfer& transfer : transfers) {
    RETURN_IF_ERROR(CheckRank("peer", transfer.peer));
    const ConstBuffer buffer = transfer.send ? transfer.from : ConstBuffer(transfer.to);
    RETURN_IF_ERROR(CheckBuffer(transfer.send ? "a block sent" : "a block received", buffer, buffer.count));
    LocalPair* pair = &self;
    if (transfer.peer != rank_) {
      const auto found = std::ranges::find(pairs, transfer.peer, &LocalPair::peer);
      pair = found != pairs.end() ? &*found : &pairs.emplace_back();
      pair->peer = transfer.peer;
    }
    if (transfer.send) {
      pair->sent.push_back(transfer.from);
    } else {
      pair->received.push_back(transfer.to);
    }
  }
  const std::string why = FindMismatch(self, self);
  return why.empty() ? absl::OkStatus() : InvalidArgument("rank {}: blocks to itself: {}", rank_, why);
}

absl::Status LocalCommunicator::SendReceive(std::span<const Transfer> transfers, Stream& stream) {
  std::vector<LocalPair> pairs;
  LocalPair self;
  RETURN_IF_ERROR(SortTransfers(transfers, pairs, self));
  ASSIGN_OR_RETURN(LocalCall* const call, NewCall(CommOperation::kSendReceive, stream));
  call->pairs = std::move(pairs);
  call->self = std::move(self);
  return Enqueue(call, stream);
}

CommBytes LocalCommunicator::bytes() const {
  CommBytes bytes;
  bytes.payload = counters_.payload.load(std::memory_order_relaxed);
  bytes.wire = counters_.wire.load(std::memory_order_relaxed);
  bytes.calls = counters_.calls.load(std::memory_order_relaxed);
  bytes.waits = counters_.waits.load(std::memory_order_relaxed);
  const auto cycles = static_cast<double>(counters_.wait_cycles.load(std::memory_order_relaxed));
  bytes.wait_seconds = cycles * SecondsPerCycle();
  return bytes;
}

}  // namespace

LocalWorld::LocalWorld(std::shared_ptr<LocalWorldState> state) : state_(std::move(state)) {}
LocalWorld::~LocalWorld() = default;

absl::StatusOr<std::unique_ptr<LocalWorld>> LocalWorld::Create(int ranks) {
  if (ranks < 1) return InvalidArgument("a world of {} ranks; at least 1", ranks);
  return std::unique_ptr<LocalWorld>(new LocalWorld(std::make_shared<LocalWorldState>(ranks)));
}

void LocalWorld::Abort(const absl::Status& status) {
  CHECK(!status.ok());
  state_->Abort(status);
}

absl::StatusOr<std::unique_ptr<Communicator>> LocalWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                             int rank) {
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  if (ranks.empty() || twice || sorted.front() < 0 || sorted.back() >= state_->ranks) {
    return InvalidArgument("group {}: ranks [{}], expected different ones of 0..{}", group_id, fmt::join(ranks, ","),
                           state_->ranks - 1);
  }
  const auto place = std::ranges::find(ranks, rank);
  if (place == ranks.end()) {
    return InvalidArgument("group {}: rank {} is not among [{}]", group_id, rank, fmt::join(ranks, ","));
  }
  const auto rank_in_group = static_cast<int>(place - ranks.begin());

  std::lock_guard lock(state_->mutex);
  std::unique_ptr<LocalGroup>& group = state_->groups[group_id];
  if (group == nullptr) {
    LocalWorldState* const state = state_.get();  // outlives its groups
    group = std::make_unique<LocalGroup>(group_id, ranks, [state](const absl::Status& error) { state->Abort(error); });
    if (!state->aborted.ok()) group->Abort(state->aborted);
  }
  if (group->ranks() != ranks) {
    return InvalidArgument("group {}: rank {} says its ranks are [{}], another one said [{}]", group_id, rank,
                           fmt::join(ranks, ","), fmt::join(group->ranks(), ","));
  }
  if (!group->Join(rank_in_group)) return InvalidArgument("group {}: rank {} has joined already", group_id, rank);
  return std::make_unique<LocalCommunicator>(state_, group.get(), rank_in_group);
}

}  // namespace partita
