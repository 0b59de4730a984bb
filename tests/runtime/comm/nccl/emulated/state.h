// What the functions of the emulated NCCL share.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_STATE_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/comm/nccl/emulated/emulated_comm.h"
#include "tests/runtime/comm/nccl/emulated/emulated_nccl.h"

namespace partita::emulated_nccl {

using Comm = std::shared_ptr<EmulatedComm>;

struct State {
  const FakeCuda* cuda = nullptr;
  std::atomic<int> version{NCCL_VERSION_CODE};

  mutable std::mutex mutex;
  std::condition_variable changed;
  int threads = 0;    // of the library, that run
  int64_t comms = 0;  // made so far
  std::map<ncclComm_t, Comm> live;
  std::map<ncclComm_t, std::string> ended;     // what was called: handles are not used again
  std::set<std::pair<std::string, int>> came;  // unique id and rank
  std::vector<Comm> late;                      // destroyed before they were finalized
  std::vector<std::string> reports;
  std::string last_error;
  std::optional<std::string> algo;
};

// Of the EmulatedNccl that lives now.
extern State* current;

// A sentence for ncclGetLastError and standard error; Report: it is the program's mistake.
void Note(const std::string& text);
void Report(const std::string& text);
ncclResult_t Refuse(ncclResult_t result, const std::string& text);

// Null, and reported: the handle was never given out, or its communicator has ended.
Comm Find(ncclComm_t handle, const char* call);

// Runs on a thread of the library.
void InBackground(std::function<void()> work);

// The groups of the calling thread.
bool InGroup();
void JoinAtEndOfGroup(const Comm& comm);
void ReclaimAtEndOfGroup(const Comm& comm);

// What a call is refused for before anything is enqueued; ncclSuccess: nothing.
ncclResult_t CheckCall(const Operation& operation, const EmulatedComm& comm, const char* call);
ncclResult_t CheckGroup(const std::vector<Operation>& operations, const EmulatedComm& comm);

// Lets a communicator join in the background; waits for it where it blocks.
void StartJoin(const Comm& comm);
ncclResult_t AwaitUnlessInBackground(const Comm& comm);

void Reclaim(const Comm& comm);

// Collectives, transfers and groups.
void FillCalls(NcclApi& api);

}  // namespace partita::emulated_nccl

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_STATE_H_
