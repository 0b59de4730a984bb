#include "runtime/comm/cuda_local/cuda_local_group.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/reduce_kernel.h"

namespace partita {

absl::StatusOr<std::unique_ptr<CudaLocalGroup>> CudaLocalGroup::Create(int id, std::vector<int> ranks,
                                                                       CudaDevice* device) {
  std::unique_ptr<CudaLocalGroup> group(new CudaLocalGroup(id, std::move(ranks)));
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kBF16}) {
      RETURN_IF_ERROR(device->context().Load(ReduceKernel(reduction, dtype)));
    }
  }
  for (Posted& posted : group->posted_) {
    ASSIGN_OR_RETURN(posted.ready, CudaEvent::Create(&device->context()));
    ASSIGN_OR_RETURN(posted.done, CudaEvent::Create(&device->context()));
  }
  return group;
}

bool CudaLocalGroup::Join(int rank) { return !std::exchange(posted_[rank].joined, true); }

absl::Status CudaLocalGroup::Post(std::shared_ptr<CommCall> call, CudaStream& stream, Count count) {
  Posted& posted = posted_[call->rank];
  call->sequence = ++posted.sequence;
  RETURN_IF_ERROR(CheckFit(*call));
  posted.call = call;
  posted.stream = &stream;
  posted.count = std::move(count);
  if (std::ranges::any_of(posted_, [](const Posted& other) { return other.call == nullptr; })) {
    stream.Hold();
    return absl::OkStatus();
  }
  for (const Posted& each : posted_) each.stream->Release();
  const absl::Status status = Enqueue();
  for (Posted& each : posted_) each.call = nullptr;
  return status;
}

absl::Status CudaLocalGroup::CheckFit(const CommCall& call) const {
  for (const Posted& posted : posted_) {
    if (posted.call == nullptr) continue;
    const CommCall& peer = *posted.call;
    const std::string why = peer.rank == call.rank ? "one rank runs two calls at a time" : FindMismatch(call, peer);
    if (why.empty()) continue;
    return Internal("{}", MismatchMessage(id_, why, {ranks_[call.rank], call.Describe(), call.sequence},
                                          {ranks_[peer.rank], peer.Describe(), peer.sequence}));
  }
  return absl::OkStatus();
}

// All ranks have called.
absl::Status CudaLocalGroup::Enqueue() {
  RETURN_IF_ERROR(Barrier(&Posted::ready));
  for (size_t rank = 0; rank < posted_.size(); ++rank) RETURN_IF_ERROR(Work(static_cast<int>(rank)));
  RETURN_IF_ERROR(Barrier(&Posted::done));
  for (const Posted& posted : posted_) {
    posted.stream->OnEachRun([call = posted.call, count = posted.count] { count(*call); });
  }
  return absl::OkStatus();
}

// Each rank's stream continues when the streams of all ranks have reached this point.
absl::Status CudaLocalGroup::Barrier(std::unique_ptr<CudaEvent> Posted::*event) {
  for (const Posted& posted : posted_) RETURN_IF_ERROR(posted.stream->Record(*(posted.*event)));
  for (const Posted& posted : posted_) {
    for (const Posted& other : posted_) {
      if (&other != &posted) RETURN_IF_ERROR(posted.stream->Wait(*(other.*event)));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaLocalGroup::Work(int rank) {
  CommCall& call = *posted_[rank].call;
  switch (call.kind) {
    case CollectiveKind::kAllReduce: {
      std::vector<void*> outs;
      const ElementRange own = BalancedRange(call.in.count, static_cast<int64_t>(posted_.size()), rank);
      for (const Posted& posted : posted_) outs.push_back(At(posted.call->out, own.first));
      // The blocks that others reduce come here.
      call.wire += (call.in.count - own.count) * SizeOf(call.in.dtype);
      return Reduce(rank, own, outs);
    }
    case CollectiveKind::kReduceScatter: {
      void* const out = call.out.data;
      return Reduce(rank, CountedRange(call.counts, rank), std::span(&out, 1));
    }
    case CollectiveKind::kReduce: {
      if (rank != call.root) return absl::OkStatus();
      void* const out = call.out.data;
      return Reduce(rank, {0, call.in.count}, std::span(&out, 1));
    }
    case CollectiveKind::kBroadcast:
      if (rank != call.root) call.wire += call.out.bytes();
      return Copy(rank, call.out.data, posted_[call.root].call->in.data, call.out.bytes());
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return PullBlocks(rank);
  }
  return absl::OkStatus();
}

absl::Status CudaLocalGroup::Reduce(int rank, ElementRange block, std::span<void* const> outs) {
  CommCall& call = *posted_[rank].call;
  if (block.count == 0) return absl::OkStatus();
  ReduceArguments arguments = {};
  for (const Posted& posted : posted_) arguments.in[arguments.inputs++] = At(posted.call->in, block.first);
  for (void* out : outs) arguments.out[arguments.outputs++] = out;
  arguments.count = block.count;
  call.wire += static_cast<int64_t>(posted_.size() - 1) * block.count * SizeOf(call.in.dtype);
  void* pointers[] = {&arguments};
  return posted_[rank].stream->Launch(ReduceKernel(call.reduction, call.in.dtype), {arguments.blocks()},
                                      {ReduceArguments::kThreads}, pointers);
}

absl::Status CudaLocalGroup::Copy(int rank, void* to, const void* from, int64_t bytes) {
  return to == from ? absl::OkStatus() : posted_[rank].stream->Copy(to, from, bytes);
}

// The block of every rank, in rank order, into the rank's out.
absl::Status CudaLocalGroup::PullBlocks(int rank) {
  CommCall& call = *posted_[rank].call;
  const bool all_to_all = call.kind == CollectiveKind::kAllToAll;
  for (const Posted& posted : posted_) {
    const CommCall& peer = *posted.call;
    if (!call.received.empty()) {
      StridedCopy block;
      SetBlockCopy(peer, call, 0, 1, block);
      RETURN_IF_ERROR(posted_[rank].stream->CopyStrided(block));
      if (&peer != &call) call.wire += call.counts[peer.rank] * SizeOf(call.in.dtype);
      continue;
    }
    const ElementRange place = CountedRange(all_to_all ? call.receive_counts : call.counts, peer.rank);
    const ElementRange block = all_to_all ? CountedRange(peer.counts, rank) : ElementRange{0, peer.in.count};
    RETURN_IF_ERROR(
        Copy(rank, At(call.out, place.first), At(peer.in, block.first), block.count * SizeOf(call.in.dtype)));
    // Of all_to_all a rank counts what it sends, of all_gather what comes to it.
    const int64_t crossed = all_to_all ? call.counts[peer.rank] : block.count;
    if (&peer != &call) call.wire += crossed * SizeOf(call.in.dtype);
  }
  return absl::OkStatus();
}

}  // namespace partita
