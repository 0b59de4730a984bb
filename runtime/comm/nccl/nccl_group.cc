#include "runtime/comm/nccl/nccl_group.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

ncclDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ncclFloat32;
    case DType::kF64:
      return ncclFloat64;
    case DType::kI32:
      return ncclInt32;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kU8:
      break;
  }
  return ncclUint8;
}

ncclRedOp_t OperatorOf(Reduction reduction) { return reduction == Reduction::kSum ? ncclSum : ncclMax; }

size_t Count(int64_t elements) { return static_cast<size_t>(elements); }

bool AllEqual(const std::vector<int64_t>& counts) {
  return std::ranges::all_of(counts, [&](int64_t count) { return count == counts[0]; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclGroup>> NcclGroup::Create(NcclGroupOptions options) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(std::move(options)));
  ASSIGN_OR_RETURN(group->progress_,
                   CollectiveProgress::Create(*group->options_.device, group->id(), *group->options_.ring));
  return group;
}

NcclGroup::~NcclGroup() {
  std::lock_guard lock(mutex_);
  if (comm_ != nullptr) api_->ncclCommAbort(comm_);
}

absl::Status NcclGroup::Join() {
  RETURN_IF_ERROR(options_.device->context().Activate());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::unique_lock lock(mutex_);
  if (aborted_) return Unavailable("group {}: the group was aborted", id());
  const std::string what = fmt::format("ranks [{}]", fmt::join(options_.ranks, ","));
  const ncclResult_t result = api_->ncclCommInitRankConfig(&comm_, size_, options_.unique, rank_, &config);
  absl::Status status = Check(result, "ncclCommInitRankConfig", what);
  if (status.ok()) status = Settle(lock, what);
  if (!status.ok() && comm_ != nullptr) api_->ncclCommAbort(std::exchange(comm_, nullptr));
  return status;
}

// A call that is under way counts as well: Settle finds out what becomes of it.
absl::Status NcclGroup::Check(ncclResult_t result, const char* call, const std::string& what) const {
  if (result == ncclSuccess || result == ncclInProgress) return absl::OkStatus();
  return NcclStatus(*api_, result, comm_, call, fmt::format("group {}: {}", id(), what));
}

// Waits for the calls that are under way, outside of NCCL's groups. While it sleeps, Abort may come.
absl::Status NcclGroup::Settle(std::unique_lock<std::mutex>& lock, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + options_.join_within;
  std::chrono::microseconds pause{50};
  while (true) {
    if (comm_ == nullptr) return Unavailable("group {}: {}: the group was aborted", id(), what);
    ncclResult_t state = ncclSuccess;
    RETURN_IF_ERROR(Check(api_->ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError", what));
    if (state != ncclInProgress) return Check(state, "in the background", what);
    if (std::chrono::steady_clock::now() >= deadline) {
      return Unavailable("group {}: {}: NCCL has not found all of them within {} ms; a peer is gone or stuck", id(),
                         what, options_.join_within.count());
    }
    lock.unlock();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10'000));
    lock.lock();
  }
}

absl::Status NcclGroup::Enqueue(const CommCall& call, CudaStream& stream) {
  RETURN_IF_ERROR(progress_->Begin(stream));
  RETURN_IF_ERROR(EnqueueWork(call, stream));
  return progress_->End(call, stream);
}

absl::Status NcclGroup::EnqueueWork(const CommCall& call, CudaStream& stream) {
  ASSIGN_OR_RETURN(cudaStream_t const handle, stream.BeginWork());
  {
    std::unique_lock lock(mutex_);
    if (comm_ == nullptr) return Unavailable("group {}: {}: the group was aborted", id(), call.Describe());
    switch (call.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kReduce:
        RETURN_IF_ERROR(Whole(call, handle));
        break;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        RETURN_IF_ERROR(Blocks(call, handle));
        break;
      case CollectiveKind::kAllToAll:
        RETURN_IF_ERROR(Grouped(call, handle));
    }
    RETURN_IF_ERROR(Settle(lock, call.Describe()));
  }
  return call.kind == CollectiveKind::kAllToAll ? CopyOwn(call, stream) : absl::OkStatus();
}

absl::Status NcclGroup::Whole(const CommCall& call, cudaStream_t stream) {
  const ConstBuffer in = call.in;
  const Buffer out = call.out;
  if (call.kind == CollectiveKind::kAllReduce) {
    return Check(api_->ncclAllReduce(in.data, out.data, Count(in.count), TypeOf(in.dtype), OperatorOf(call.reduction),
                                     comm_, stream),
                 "ncclAllReduce", call.Describe());
  }
  if (call.kind == CollectiveKind::kReduce) {
    return Check(api_->ncclReduce(in.data, out.data, Count(in.count), TypeOf(in.dtype), OperatorOf(call.reduction),
                                  call.root, comm_, stream),
                 "ncclReduce", call.Describe());
  }
  const void* const from = rank_ == call.root ? in.data : out.data;
  return Check(api_->ncclBroadcast(from, out.data, Count(out.count), TypeOf(out.dtype), call.root, comm_, stream),
               "ncclBroadcast", call.Describe());
}

// NCCL's own have blocks of one size; others are one broadcast, or reduction, for each block that is not empty.
absl::Status NcclGroup::Blocks(const CommCall& call, cudaStream_t stream) {
  const bool gather = call.kind == CollectiveKind::kAllGather;
  const ncclDataType_t type = TypeOf(call.in.dtype);
  const ncclRedOp_t reduction = OperatorOf(call.reduction);
  if (AllEqual(call.counts)) {
    const size_t count = Count(call.counts[0]);
    return gather ? Check(api_->ncclAllGather(call.in.data, call.out.data, count, type, comm_, stream), "ncclAllGather",
                          call.Describe())
                  : Check(api_->ncclReduceScatter(call.in.data, call.out.data, count, type, reduction, comm_, stream),
                          "ncclReduceScatter", call.Describe());
  }
  RETURN_IF_ERROR(Check(api_->ncclGroupStart(), "ncclGroupStart", call.Describe()));
  absl::Status status;
  for (int owner = 0; owner < size_ && status.ok(); ++owner) {
    const ElementRange block = CountedRange(call.counts, owner);
    if (block.count == 0) continue;
    const size_t count = Count(block.count);
    if (gather) {
      void* const place = At(call.out, block.first);
      const void* const from = owner == rank_ ? call.in.data : place;
      status =
          Check(api_->ncclBroadcast(from, place, count, type, owner, comm_, stream), "ncclBroadcast", call.Describe());
    } else {
      status =
          Check(api_->ncclReduce(At(call.in, block.first), call.out.data, count, type, reduction, owner, comm_, stream),
                "ncclReduce", call.Describe());
    }
  }
  const absl::Status ended = Check(api_->ncclGroupEnd(), "ncclGroupEnd", call.Describe());
  return status.ok() ? ended : status;
}

// The blocks of an all_to_all. NCCL neither sends nor receives empty ones; CopyOwn copies the rank's block to itself.
absl::Status NcclGroup::Grouped(const CommCall& call, cudaStream_t stream) {
  RETURN_IF_ERROR(Check(api_->ncclGroupStart(), "ncclGroupStart", call.Describe()));
  absl::Status status;
  for (int peer = 0; peer < size_ && status.ok(); ++peer) {
    if (peer == rank_) continue;
    const ElementRange sent = CountedRange(call.counts, peer), received = CountedRange(call.receive_counts, peer);
    if (sent.count > 0) {
      status =
          Check(api_->ncclSend(At(call.in, sent.first), Count(sent.count), TypeOf(call.in.dtype), peer, comm_, stream),
                "ncclSend", call.Describe());
    }
    if (received.count > 0 && status.ok()) {
      status = Check(api_->ncclRecv(At(call.out, received.first), Count(received.count), TypeOf(call.out.dtype), peer,
                                    comm_, stream),
                     "ncclRecv", call.Describe());
    }
  }
  const absl::Status ended = Check(api_->ncclGroupEnd(), "ncclGroupEnd", call.Describe());
  return status.ok() ? ended : status;
}

absl::Status NcclGroup::CopyOwn(const CommCall& call, CudaStream& stream) {
  const ElementRange from = CountedRange(call.counts, rank_), to = CountedRange(call.receive_counts, rank_);
  return stream.Copy(At(call.out, to.first), At(call.in, from.first), from.count * SizeOf(call.in.dtype));
}

absl::Status NcclGroup::PollError() {
  std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return absl::OkStatus();
  ncclResult_t async = ncclSuccess;
  RETURN_IF_ERROR(Check(api_->ncclCommGetAsyncError(comm_, &async), "ncclCommGetAsyncError", progress_->Current()));
  if (async == ncclInProgress) return absl::OkStatus();
  return Check(async, "in the background", progress_->Current());
}

void NcclGroup::End() {
  std::unique_lock lock(mutex_);
  if (comm_ == nullptr || given_up_) return;
  // To destroy a communicator that does not block is to finalize it on a thread of NCCL's, behind the caller's back.
  absl::Status status = Check(api_->ncclCommFinalize(comm_), "ncclCommFinalize", "the end");
  if (status.ok()) status = Settle(lock, "the end");
  if (comm_ == nullptr) return;  // aborted meanwhile
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  if (status.ok()) {
    api_->ncclCommDestroy(comm);
  } else {
    api_->ncclCommAbort(comm);
  }
}

void NcclGroup::Abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  if (comm_ != nullptr) api_->ncclCommAbort(std::exchange(comm_, nullptr));
}

}  // namespace partita
