#include "tests/runtime/comm/nccl/fake_nccl.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/base/check.h"

namespace partita {
namespace {

FakeNccl* current = nullptr;

ncclResult_t Count() {
  if (current->countdown == 0 || --current->countdown != 0) return ncclSuccess;
  current->failed = true;
  return ncclSystemError;
}

ncclResult_t Enter(std::string what) {
  current->log.push_back(std::move(what));
  return Count();
}

const char* Name(ncclRedOp_t reduction) { return reduction == ncclSum ? "sum" : "max"; }

ncclResult_t GetVersion(int* version) {
  *version = current->version;
  return Enter("version");
}

ncclResult_t GetUniqueId(ncclUniqueId* id) {
  std::memset(id->internal, 0, sizeof(id->internal));
  std::strcpy(id->internal, fmt::format("id {}", ++current->ids).c_str());
  return Enter("id");
}

// Every call on a communicator that does not block may be under way for a while.
ncclResult_t Begin(std::string what) {
  const ncclResult_t result = Enter(std::move(what));
  if (result != ncclSuccess || current->open_groups > 0) return result;
  current->under_way = current->looks_until_done;
  return current->under_way == 0 ? ncclSuccess : ncclInProgress;
}

ncclResult_t CommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  CHECK(config->blocking == 0 && config->size == sizeof(ncclConfig_t));
  const ncclResult_t result = Begin(fmt::format("init {} ranks as {} by '{}'", ranks, rank, id.internal));
  if (result != ncclSuccess && result != ncclInProgress) return result;
  ++current->live;
  *comm = reinterpret_cast<ncclComm_t>(new int(rank));
  return result;
}

ncclResult_t End(ncclComm_t comm, const char* how) {
  delete reinterpret_cast<int*>(comm);
  --current->live;
  return Enter(how);
}
ncclResult_t CommDestroy(ncclComm_t comm) { return End(comm, "destroy"); }
ncclResult_t CommAbort(ncclComm_t comm) { return End(comm, "abort"); }

ncclResult_t CommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  CHECK(current->open_groups == 0);  // the state of a group that is not ended does not change
  const ncclResult_t result = Count();
  *error = current->background;
  if (current->under_way == 0) return result;
  *error = ncclInProgress;
  if (current->under_way > 0) --current->under_way;
  if (current->while_waiting) current->while_waiting();
  return result;
}

ncclResult_t GroupStart() {
  const ncclResult_t result = Enter("group {");
  if (result == ncclSuccess) ++current->open_groups;
  return result;
}
ncclResult_t GroupEnd() {
  --current->open_groups;
  return Begin("}");
}

ncclResult_t AllReduce(const void*, void*, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t,
                       cudaStream_t) {
  current->all_reduced.push_back(type);
  return Begin(fmt::format("all_reduce {} {}", count, Name(op)));
}
ncclResult_t AllGather(const void*, void*, size_t count, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return Begin(fmt::format("all_gather {}", count));
}
ncclResult_t ReduceScatter(const void*, void*, size_t count, ncclDataType_t, ncclRedOp_t op, ncclComm_t, cudaStream_t) {
  return Begin(fmt::format("reduce_scatter {} {}", count, Name(op)));
}
ncclResult_t Broadcast(const void* from, void* to, size_t count, ncclDataType_t, int root, ncclComm_t, cudaStream_t) {
  return Begin(fmt::format("broadcast {} from {}{}", count, root, from == to ? " in place" : ""));
}
ncclResult_t Reduce(const void*, void*, size_t count, ncclDataType_t, ncclRedOp_t op, int root, ncclComm_t,
                    cudaStream_t) {
  return Begin(fmt::format("reduce {} {} to {}", count, Name(op), root));
}
ncclResult_t Send(const void*, size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  CHECK(current->open_groups == 1);
  return Begin(fmt::format("send {} to {}", count, peer));
}
ncclResult_t Receive(void*, size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  CHECK(current->open_groups == 1);
  return Begin(fmt::format("receive {} from {}", count, peer));
}

const char* GetErrorString(ncclResult_t result) { return result == ncclRemoteError ? "remote error" : "system error"; }
const char* GetLastError(ncclComm_t) { return "connection closed"; }

}  // namespace

FakeNccl::FakeNccl() {
  CHECK(current == nullptr);
  current = this;
  api_ = {.ncclAllGather = AllGather,
          .ncclAllReduce = AllReduce,
          .ncclBroadcast = Broadcast,
          .ncclCommAbort = CommAbort,
          .ncclCommDestroy = CommDestroy,
          .ncclCommGetAsyncError = CommGetAsyncError,
          .ncclCommInitRankConfig = CommInitRankConfig,
          .ncclGetErrorString = GetErrorString,
          .ncclGetLastError = GetLastError,
          .ncclGetUniqueId = GetUniqueId,
          .ncclGetVersion = GetVersion,
          .ncclGroupEnd = GroupEnd,
          .ncclGroupStart = GroupStart,
          .ncclRecv = Receive,
          .ncclReduce = Reduce,
          .ncclReduceScatter = ReduceScatter,
          .ncclSend = Send};
}

FakeNccl::~FakeNccl() { current = nullptr; }

}  // namespace partita
