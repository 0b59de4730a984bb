// Collectives, transfers between pairs, and groups of both: checked, then enqueued.
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "tests/runtime/comm/nccl/emulated/state.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita::emulated_nccl {
namespace {

// Of one communicator in a group.
struct Work {
  Comm comm;
  cudaStream_t stream = nullptr;
  std::vector<Operation> operations;
};

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;  // of the first call that was refused
  std::vector<Work> work;
  std::vector<Comm> joins, aborted;
};

thread_local Group group;

ncclResult_t Failed(ncclResult_t result) {
  if (group.depth > 0 && group.error == ncclSuccess) group.error = result;
  return result;
}

void Enqueue(const Work& work) {
  const bool captured = FakeCuda::IsCaptured(work.stream);
  const std::shared_ptr<void> held = work.comm->Reference(captured ? work.operations : std::vector<Operation>());
  const auto run = [comm = work.comm, operations = work.operations, held] { comm->Run(operations); };
  FakeCuda::Enqueue(work.stream, run, held);
}

// Where no communicator blocks, on a thread of the library, as NCCL does.
ncclResult_t Launch(std::vector<Work> all) {
  bool blocking = true;
  for (const Work& work : all) blocking = blocking && work.comm->options().blocking;
  auto launch = [all = std::move(all)] {
    for (const Work& work : all) {
      Enqueue(work);
      work.comm->Done();
    }
  };
  if (blocking) {
    launch();
    return ncclSuccess;
  }
  InBackground(std::move(launch));
  return ncclInProgress;
}

ncclResult_t Call(const char* call, ncclComm_t handle, cudaStream_t stream, const Operation& operation) {
  const Comm comm = Find(handle, call);
  if (comm == nullptr) return Failed(ncclInvalidArgument);
  Work* known = nullptr;
  for (Work& work : group.work) {
    if (work.comm == comm) known = &work;
  }
  if (known == nullptr) {
    if (const ncclResult_t begun = comm->Begin(call); begun != ncclSuccess) return Failed(begun);
    group.work.push_back({comm, stream, {}});
    known = &group.work.back();
  }
  ncclResult_t result = CheckCall(operation, *comm, call);
  if (result == ncclSuccess && known->stream != stream) {
    result = Refuse(ncclInvalidUsage,
                    fmt::format("{}: {}: one group uses two streams, which is not emulated", comm->ToString(), call));
  }
  if (result == ncclSuccess) known->operations.push_back(operation);
  if (group.depth > 0) return Failed(result);
  std::vector<Work> work = std::exchange(group.work, {});
  if (result == ncclSuccess) return Launch(std::move(work));
  comm->Done();
  return result;
}

ncclResult_t GroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t GroupEnd() {
  if (group.depth == 0) return Refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  Group ended = std::exchange(group, {});
  for (const Comm& comm : ended.aborted) Reclaim(comm);
  ncclResult_t result = ended.error;
  for (const Comm& comm : ended.joins) StartJoin(comm);
  for (const Comm& comm : ended.joins) {
    const ncclResult_t joined = AwaitUnlessInBackground(comm);
    if (result == ncclSuccess) result = joined;
  }
  const bool joins = result == ncclSuccess || result == ncclInProgress;
  ncclResult_t checked = joins ? ncclSuccess : result;
  for (const Work& work : ended.work) {
    if (checked == ncclSuccess) checked = CheckGroup(work.operations, *work.comm);
  }
  if (checked != ncclSuccess) {
    for (const Work& work : ended.work) work.comm->Done();
    return checked;
  }
  if (ended.work.empty()) return result;
  const ncclResult_t launched = Launch(std::move(ended.work));
  return result == ncclSuccess ? launched : result;
}

ncclResult_t AllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                       ncclComm_t comm, cudaStream_t stream) {
  return Call("ncclAllReduce", comm, stream, {Operation::kAllReduce, from, to, count, type, reduction});
}
ncclResult_t AllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                       cudaStream_t stream) {
  return Call("ncclAllGather", comm, stream, {Operation::kAllGather, from, to, count, type});
}
ncclResult_t ReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  return Call("ncclReduceScatter", comm, stream, {Operation::kReduceScatter, from, to, count, type, reduction});
}
ncclResult_t Broadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return Call("ncclBroadcast", comm, stream, {Operation::kBroadcast, from, to, count, type, ncclSum, root});
}
ncclResult_t Reduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t reduction, int root,
                    ncclComm_t comm, cudaStream_t stream) {
  return Call("ncclReduce", comm, stream, {Operation::kReduce, from, to, count, type, reduction, root});
}
ncclResult_t Send(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return Call("ncclSend", comm, stream, {Operation::kSend, from, nullptr, count, type, ncclSum, peer});
}
ncclResult_t Receive(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return Call("ncclRecv", comm, stream, {Operation::kReceive, nullptr, to, count, type, ncclSum, peer});
}

}  // namespace

bool InGroup() { return group.depth > 0; }
void JoinAtEndOfGroup(const Comm& comm) { group.joins.push_back(comm); }
void ReclaimAtEndOfGroup(const Comm& comm) { group.aborted.push_back(comm); }

void FillCalls(NcclApi& api) {
  api.ncclAllGather = AllGather;
  api.ncclAllReduce = AllReduce;
  api.ncclBroadcast = Broadcast;
  api.ncclGroupEnd = GroupEnd;
  api.ncclGroupStart = GroupStart;
  api.ncclRecv = Receive;
  api.ncclReduce = Reduce;
  api.ncclReduceScatter = ReduceScatter;
  api.ncclSend = Send;
}

}  // namespace partita::emulated_nccl
