#include "tests/runtime/comm/nccl/fake_nccl.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {

struct FakeCommunicator {
  std::mutex mutex;
  std::condition_variable changed;
  int graphs = 0;  // references that graphs hold
  bool aborted = false;
  bool finalized = false;
};

namespace {

using Held = std::shared_ptr<FakeCommunicator>;

FakeNccl* current = nullptr;
thread_local int groups = 0;           // that this thread has begun and not ended
thread_local std::vector<Held> ended;  // in them

ncclResult_t Count() {
  std::lock_guard lock(current->mutex);
  if (current->countdown == 0 || --current->countdown != 0) return ncclSuccess;
  current->failed = true;
  return ncclSystemError;
}

ncclResult_t Enter(std::string what) {
  {
    std::lock_guard lock(current->mutex);
    current->log.push_back(std::move(what));
  }
  return Count();
}

// Waits for a change of the communicator.
template <typename Condition>
void Await(FakeCommunicator& comm, const Condition& condition) {
  std::unique_lock lock(comm.mutex);
  if (!comm.changed.wait_for(lock, current->patience, condition)) current->stuck = true;
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
  if (result != ncclSuccess || groups > 0) return result;
  current->under_way = current->looks_until_done;
  return current->under_way == 0 ? ncclSuccess : ncclInProgress;
}

// The handle is the address of what holds the communicator for the library; graphs hold it as well.
Held& HeldBy(ncclComm_t comm) { return *reinterpret_cast<Held*>(comm); }

// A reference for a graph.
std::shared_ptr<void> Reference(const Held& comm) {
  std::lock_guard lock(comm->mutex);
  ++comm->graphs;
  return {comm.get(), [comm](void*) {
            std::lock_guard lock(comm->mutex);
            --comm->graphs;
            comm->changed.notify_all();
          }};
}

// A collective on a stream.
ncclResult_t Collect(std::string what, ncclComm_t handle, cudaStream_t stream) {
  const ncclResult_t result = Begin(std::move(what));
  if (result != ncclSuccess && result != ncclInProgress) return result;
  const Held& comm = HeldBy(handle);
  const auto run = [comm] {
    if (!current->peers_are_gone) return;
    ++current->waiting;
    Await(*comm, [&] { return comm->aborted; });
    --current->waiting;
  };
  FakeCuda::Enqueue(stream, run, Reference(comm));
  return result;
}

ncclResult_t CommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  CHECK(config->blocking == 0 && config->size == sizeof(ncclConfig_t));
  const ncclResult_t result = Begin(fmt::format("init {} ranks as {} by '{}'", ranks, rank, id.internal));
  if (result != ncclSuccess && result != ncclInProgress) return result;
  std::lock_guard lock(current->mutex);
  ++current->live;
  *comm = reinterpret_cast<ncclComm_t>(new Held(std::make_shared<FakeCommunicator>()));
  return result;
}

// Gives the communicators back that were ended: NCCL polls until all graphs that refer to one are gone.
void Reclaim() {
  for (const Held& comm : std::exchange(ended, {})) {
    Await(*comm, [&] { return comm->graphs == 0; });
    std::lock_guard lock(current->mutex);
    --current->live;
  }
}

ncclResult_t End(ncclComm_t comm, const char* how) {
  ended.push_back(HeldBy(comm));
  delete &HeldBy(comm);
  const ncclResult_t result = Enter(how);
  if (groups == 0) Reclaim();
  return result;
}
ncclResult_t CommFinalize(ncclComm_t comm) {
  HeldBy(comm)->finalized = true;
  return Begin("finalize");
}
// Otherwise NCCL would go on with the communicator on a thread of its own.
ncclResult_t CommDestroy(ncclComm_t comm) {
  CHECK(HeldBy(comm)->finalized && current->under_way == 0);
  return End(comm, "destroy");
}
ncclResult_t CommAbort(ncclComm_t handle) {
  {
    FakeCommunicator& comm = *HeldBy(handle);
    std::lock_guard lock(comm.mutex);
    comm.aborted = true;
    comm.changed.notify_all();
  }
  return End(handle, "abort");
}

ncclResult_t CommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  CHECK(groups == 0);  // the state of a group that is not ended does not change
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
  if (result == ncclSuccess) ++groups;
  return result;
}
ncclResult_t GroupEnd() {
  if (--groups == 0) Reclaim();
  return Begin("}");
}

ncclResult_t AllReduce(const void*, void*, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                       cudaStream_t stream) {
  current->all_reduced.push_back(type);
  return Collect(fmt::format("all_reduce {} {}", count, Name(op)), comm, stream);
}
ncclResult_t AllGather(const void*, void*, size_t count, ncclDataType_t, ncclComm_t comm, cudaStream_t stream) {
  return Collect(fmt::format("all_gather {}", count), comm, stream);
}
ncclResult_t ReduceScatter(const void*, void*, size_t count, ncclDataType_t, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return Collect(fmt::format("reduce_scatter {} {}", count, Name(op)), comm, stream);
}
ncclResult_t Broadcast(const void* from, void* to, size_t count, ncclDataType_t, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return Collect(fmt::format("broadcast {} from {}{}", count, root, from == to ? " in place" : ""), comm, stream);
}
ncclResult_t Reduce(const void*, void*, size_t count, ncclDataType_t, ncclRedOp_t op, int root, ncclComm_t comm,
                    cudaStream_t stream) {
  return Collect(fmt::format("reduce {} {} to {}", count, Name(op), root), comm, stream);
}
ncclResult_t Send(const void*, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  CHECK(groups == 1);
  return Collect(fmt::format("send {} to {}", count, peer), comm, stream);
}
ncclResult_t Receive(void*, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  CHECK(groups == 1);
  return Collect(fmt::format("receive {} from {}", count, peer), comm, stream);
}

const char* GetErrorString(ncclResult_t result) { return result == ncclRemoteError ? "remote error" : "system error"; }
const char* GetLastError(ncclComm_t) { return "connection closed"; }

}  // namespace

std::function<void()> CountUp(dim3, dim3, void** arguments) {
  const auto pointer = [&](int i) { return *static_cast<unsigned long long**>(arguments[i]); };
  return [count = pointer(0), seen = pointer(1), next_count = pointer(2), next_seen = pointer(3)] {
    std::atomic_ref(*seen).store(++*count);
    if (next_count != nullptr) std::atomic_ref(*next_seen).store(++*next_count);
  };
}

FakeNccl::FakeNccl() {
  CHECK(current == nullptr);
  current = this;
  api_ = {.ncclAllGather = AllGather,
          .ncclAllReduce = AllReduce,
          .ncclBroadcast = Broadcast,
          .ncclCommAbort = CommAbort,
          .ncclCommDestroy = CommDestroy,
          .ncclCommFinalize = CommFinalize,
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

int FakeNccl::open_groups() { return groups; }

}  // namespace partita
