// NCCL without GPUs: every call is written down, and any can be made to fail. Nothing is moved.
//
// Collectives are work of the fake CUDA's streams. As NCCL does, ending a communicator waits until every graph that
// holds it is gone; inside of a group, whose calls are a thread's own, the end of the group waits. Thread-safe where
// NCCL is; what is public is read and written while no other thread calls.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_FAKE_NCCL_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_FAKE_NCCL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/nccl/nccl_api.h"

namespace partita {

// The kernel that counts collectives up, for FakeCuda::Register. Other threads may read the counts that the host sees.
std::function<void()> CountUp(dim3 grid, dim3 block, void** arguments);

struct FakeCommunicator;

// One at a time: the functions of a table have no argument for it.
class FakeNccl {
 public:
  FakeNccl();
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;

  const NcclApi& api() const { return api_; }

  int version = NCCL_VERSION_CODE;
  std::atomic<ncclResult_t> background{ncclSuccess};  // what ncclCommGetAsyncError finds

  // The number of calls of ncclCommGetAsyncError until a non-blocking call is done; -1: never. Each of them calls
  // `while_waiting`.
  int looks_until_done = 0;
  std::function<void()> while_waiting;

  // "all_reduce 7", "send 3 to 1", "init 2 ranks as 0 by 'id 1'", ...: in order. Counts in elements.
  std::vector<std::string> log;

  std::vector<ncclDataType_t> all_reduced;  // element types

  // The `call`-th call from now on (1: the next) that can fail returns ncclSystemError.
  void FailAt(int64_t call) { countdown = call, failed = false; }
  int64_t countdown = 0;
  bool failed = false;

  // A running collective ends only when its communicator is aborted. `waiting`: how many wait for that.
  std::atomic<bool> peers_are_gone{false};
  std::atomic<int> waiting{0};

  // A thread that waits longer than `patience` is stuck; it continues so that the test ends.
  std::chrono::milliseconds patience = std::chrono::seconds(5);
  std::atomic<bool> stuck{false};

  int64_t live = 0;               // communicators that were neither destroyed nor aborted
  static int open_groups();       // of the calling thread
  std::atomic<int> under_way{0};  // looks that are left
  int ids = 0;

  std::mutex mutex;  // of what is public and not atomic

 private:
  NcclApi api_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_FAKE_NCCL_H_
