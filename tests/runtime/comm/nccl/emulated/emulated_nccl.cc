#include "tests/runtime/comm/nccl/emulated/emulated_nccl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "runtime/base/check.h"
#include "tests/runtime/comm/nccl/emulated/state.h"

namespace partita::emulated_nccl {

State* current = nullptr;

void Note(const std::string& text) {
  fmt::print(stderr, "emulated NCCL: {}\n", text);
  std::lock_guard lock(current->mutex);
  current->last_error = text;
}

void Report(const std::string& text) {
  Note(text);
  std::lock_guard lock(current->mutex);
  current->reports.push_back(text);
}

ncclResult_t Refuse(ncclResult_t result, const std::string& text) {
  Report(text);
  return result;
}

Comm Find(ncclComm_t handle, const char* call) {
  std::string why = "is not one of this library's";
  {
    std::lock_guard lock(current->mutex);
    if (const auto found = current->live.find(handle); found != current->live.end()) return found->second;
    if (const auto found = current->ended.find(handle); found != current->ended.end()) {
      why = "has ended: " + found->second + " was called";
    }
  }
  Report(fmt::format("{}: the communicator {}", call, why));
  return nullptr;
}

void InBackground(std::function<void()> work) {
  {
    std::lock_guard lock(current->mutex);
    ++current->threads;
  }
  std::thread([work = std::move(work)]() mutable {
    work();
    work = nullptr;  // what it holds goes before the thread counts as ended
    std::lock_guard lock(current->mutex);
    --current->threads;
    current->changed.notify_all();
  }).detach();
}

void StartJoin(const Comm& comm) {
  InBackground([comm] {
    comm->Join();
    comm->Done();
  });
}

ncclResult_t AwaitUnlessInBackground(const Comm& comm) {
  if (comm->options().blocking) comm->AwaitDone();
  return comm->options().blocking ? comm->Error() : ncclInProgress;
}

// NCCL polls until no graph refers to the communicator.
void Reclaim(const Comm& comm) {
  comm->AwaitDone();
  comm->AwaitReferences(/*also_aborted=*/false);
}

namespace {

ncclResult_t GetVersion(int* version) {
  *version = current->version;
  return ncclSuccess;
}

ncclResult_t GetUniqueId(ncclUniqueId* id) {
  std::memset(id->internal, 0, sizeof(id->internal));
  std::random_device random;
  const std::string text = fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  std::memcpy(id->internal, text.data(), text.size());
  return ncclSuccess;
}

uint64_t HostHash() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  const char* const id = std::getenv("NCCL_HOSTID");
  return std::hash<std::string>()(id != nullptr && *id != '\0' ? id : name);
}

// Where an allocation of the calling thread lies.
int CurrentDevice() {
  void* data = nullptr;
  if (current->cuda->api().cudaMalloc(&data, 1) != cudaSuccess) return -1;
  const int device = FakeCuda::OwnerOf(data, 1);
  current->cuda->api().cudaFree(data);
  return device;
}

ncclResult_t CommInitRankConfig(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  constexpr char kCall[] = "ncclCommInitRankConfig";
  if (handle == nullptr) return Refuse(ncclInvalidArgument, fmt::format("{}: comm is null", kCall));
  *handle = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return Refuse(ncclInvalidArgument, fmt::format("{}: rank {} of {}", kCall, rank, ranks));
  }
  constexpr ncclConfig_t kInitial = NCCL_CONFIG_INITIALIZER;
  if (config != nullptr && (config->magic != kInitial.magic || config->size != kInitial.size)) {
    return Refuse(ncclInvalidArgument, fmt::format("{}: config was not initialized by NCCL_CONFIG_INITIALIZER", kCall));
  }
  const int blocking = config == nullptr ? NCCL_CONFIG_UNDEF_INT : config->blocking;
  if (blocking != NCCL_CONFIG_UNDEF_INT && blocking != 0 && blocking != 1) {
    return Refuse(ncclInvalidArgument, fmt::format("{}: config.blocking is {}", kCall, blocking));
  }
  CommOptions options;
  options.name.assign(id.internal, strnlen(id.internal, sizeof(id.internal)));
  options.hello = {rank, ranks, CurrentDevice(), current->version, HostHash()};
  options.blocking = blocking != 0;
  options.on_device = [device = options.hello.device](const void* data, size_t bytes) {
    return FakeCuda::OwnerOf(data, static_cast<int64_t>(bytes)) == device;
  };
  options.report = Report;
  options.note = Note;
  bool again = false;
  {
    std::lock_guard lock(current->mutex);
    const char* const algo = std::getenv("NCCL_ALGO");
    current->algo = algo == nullptr ? std::nullopt : std::optional<std::string>(algo);
    again = !current->came.emplace(options.name, rank).second;
    options.number = ++current->comms;
  }
  if (again) return Refuse(ncclInvalidUsage, fmt::format("{}: rank {} uses a unique id again", kCall, rank));
  const auto comm = std::make_shared<EmulatedComm>(std::move(options));
  CHECK(comm->Begin(kCall) == ncclSuccess);
  {
    std::lock_guard lock(current->mutex);
    *handle = reinterpret_cast<ncclComm_t>(comm->options().number);
    current->live[*handle] = comm;
  }
  if (InGroup()) {
    JoinAtEndOfGroup(comm);
    return comm->options().blocking ? ncclSuccess : ncclInProgress;
  }
  StartJoin(comm);
  return AwaitUnlessInBackground(comm);
}

void EndHandle(ncclComm_t handle, const char* call) {
  std::lock_guard lock(current->mutex);
  current->live.erase(handle);
  current->ended[handle] = call;
}

ncclResult_t CommFinalize(ncclComm_t handle) {
  const Comm comm = Find(handle, "ncclCommFinalize");
  if (comm == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t begun = comm->Begin("ncclCommFinalize"); begun != ncclSuccess) return begun;
  InBackground([comm] {
    comm->Finalize();
    if (comm->finalized()) comm->CheckMemory();
    comm->Done();
  });
  return AwaitUnlessInBackground(comm);
}

ncclResult_t CommDestroy(ncclComm_t handle) {
  const Comm comm = Find(handle, "ncclCommDestroy");
  if (comm == nullptr) return ncclInvalidArgument;
  EndHandle(handle, "ncclCommDestroy");
  const ncclResult_t error = comm->Error();
  if (error != ncclSuccess && error != ncclInProgress) {
    comm->Abort();
    return Refuse(ncclInvalidUsage, comm->ToString() + ": ncclCommDestroy: it has failed; expected ncclCommAbort");
  }
  if (error == ncclSuccess && comm->finalized()) return ncclSuccess;
  {
    std::lock_guard lock(current->mutex);
    current->late.push_back(comm);
  }
  InBackground([comm] {
    comm->AwaitDone();
    if (!comm->finalized()) comm->Finalize();
    if (!comm->finalized()) comm->Abort();
  });
  return ncclSuccess;
}

ncclResult_t CommAbort(ncclComm_t handle) {
  const Comm comm = Find(handle, "ncclCommAbort");
  if (comm == nullptr) return ncclInvalidArgument;
  EndHandle(handle, "ncclCommAbort");
  comm->Abort();
  if (InGroup()) {
    ReclaimAtEndOfGroup(comm);
  } else {
    Reclaim(comm);
  }
  return ncclSuccess;
}

ncclResult_t CommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  const Comm comm = Find(handle, "ncclCommGetAsyncError");
  if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
  *error = comm->Error();
  return ncclSuccess;
}

const char* GetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                    "internal error - please report this issue to the NCCL developers",
                                    "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                    "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return result >= 0 && result < ncclNumResults ? kTexts[result] : "unknown result code";
}

const char* GetLastError(ncclComm_t) {
  thread_local std::string last;
  std::lock_guard lock(current->mutex);
  last = current->last_error;
  return last.c_str();
}

}  // namespace
}  // namespace partita::emulated_nccl

namespace partita {

EmulatedNccl::EmulatedNccl(const FakeCuda& cuda) : state_(std::make_unique<emulated_nccl::State>()) {
  using namespace emulated_nccl;
  CHECK(current == nullptr);
  state_->cuda = &cuda;
  current = state_.get();
  api_.ncclCommAbort = CommAbort;
  api_.ncclCommDestroy = CommDestroy;
  api_.ncclCommFinalize = CommFinalize;
  api_.ncclCommGetAsyncError = CommGetAsyncError;
  api_.ncclCommInitRankConfig = CommInitRankConfig;
  api_.ncclGetErrorString = GetErrorString;
  api_.ncclGetLastError = GetLastError;
  api_.ncclGetUniqueId = GetUniqueId;
  api_.ncclGetVersion = GetVersion;
  FillCalls(api_);
}

void EmulatedNccl::set_version(int version) { state_->version = version; }

void EmulatedNccl::AwaitEnds() {
  std::vector<emulated_nccl::Comm> late;
  {
    std::unique_lock lock(state_->mutex);
    late.swap(state_->late);
    state_->changed.wait(lock, [this] { return state_->threads == 0; });
  }
  for (const emulated_nccl::Comm& comm : late) comm->CheckMemory();
}

EmulatedNccl::~EmulatedNccl() {
  std::vector<emulated_nccl::Comm> left;
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& [handle, comm] : state_->live) left.push_back(comm);
  }
  for (const emulated_nccl::Comm& comm : left) {
    emulated_nccl::Report(comm->ToString() + ": was neither destroyed nor aborted");
    comm->Abort();
  }
  AwaitEnds();
  emulated_nccl::current = nullptr;
}

std::optional<std::string> EmulatedNccl::algo() const {
  std::lock_guard lock(state_->mutex);
  return state_->algo;
}

std::vector<std::string> EmulatedNccl::reports() const {
  std::lock_guard lock(state_->mutex);
  return state_->reports;
}

}  // namespace partita
