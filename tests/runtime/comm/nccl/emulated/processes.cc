#include "tests/runtime/comm/nccl/emulated/processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/comm/nccl/count_up_kernel.h"
#include "tests/runtime/comm/nccl/fake_nccl.h"

namespace partita {

Rank::Rank(int rank, int ranks, ncclUniqueId id) : rank(rank), ranks(ranks), id(id) {
  cuda.devices = ranks;
  cuda.Register(CountUpKernel(), CountUp);
  cuda.StartThread();
  CHECK(cuda.api().cudaSetDevice(rank) == cudaSuccess);
  CHECK(cuda.api().cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
}

Rank::~Rank() { DropCapture(); }

void* Rank::Allocate(size_t bytes) {
  void* data = nullptr;
  CHECK(cuda.api().cudaMalloc(&data, std::max<size_t>(1, bytes)) == cudaSuccess);
  return data;
}

void Rank::Free(void* data) { CHECK(cuda.api().cudaFree(data) == cudaSuccess); }

ncclResult_t Rank::Join(int as, int of) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return Settled(api.ncclCommInitRankConfig(&comm, of, id, as, &config));
}

ncclResult_t Rank::Settled(ncclResult_t result) {
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    CHECK(api.ncclCommGetAsyncError(comm, &result) == ncclSuccess);
  }
  return result;
}

ncclResult_t Rank::Ran(ncclResult_t result) {
  result = Settled(result);
  if (result == ncclSuccess) CHECK(cuda.api().cudaStreamSynchronize(stream) == cudaSuccess);
  return result;
}

ncclResult_t Rank::Error() {
  ncclResult_t error = ncclSuccess;
  while (error == ncclSuccess || error == ncclInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    CHECK(api.ncclCommGetAsyncError(comm, &error) == ncclSuccess);
  }
  return error;
}

void Rank::Capture(const std::function<void()>& enqueue) {
  CHECK(cuda.api().cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  enqueue();
  CHECK(cuda.api().cudaStreamEndCapture(stream, &graph_) == cudaSuccess);
  CHECK(cuda.api().cudaGraphInstantiate(&executable_, graph_, 0) == cudaSuccess);
}

void Rank::Launch() { CHECK(cuda.api().cudaGraphLaunch(executable_, stream) == cudaSuccess); }

void Rank::Replay() {
  Launch();
  CHECK(cuda.api().cudaStreamSynchronize(stream) == cudaSuccess);
}

void Rank::DropCapture() {
  if (executable_ == nullptr) return;
  CHECK(cuda.api().cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cuda.api().cudaGraphExecDestroy(executable_) == cudaSuccess);
  CHECK(cuda.api().cudaGraphDestroy(graph_) == cudaSuccess);
  executable_ = nullptr;
}

void OnProcesses(int ranks, const std::function<void(Rank&)>& body) {
  ncclUniqueId id;
  {
    const FakeCuda cuda;
    const EmulatedNccl nccl(cuda);
    ASSERT_EQ(nccl.api().ncclGetUniqueId(&id), ncclSuccess);
  }
  std::vector<pid_t> running;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      {
        Rank here(rank, ranks, id);
        body(here);
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    running.push_back(process);
  }
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    std::erase(running, ended);
    if (status == 0) continue;
    ADD_FAILURE() << "a rank ended with " << status;
    for (const pid_t process : running) kill(process, SIGKILL);
  }
}

}  // namespace partita
