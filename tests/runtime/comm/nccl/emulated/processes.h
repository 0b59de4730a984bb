// Ranks of the emulated NCCL as processes: each has a fake CUDA, a stream and a communicator of all.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PROCESSES_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PROCESSES_H_

#include <cstddef>
#include <functional>
#include <string>

#include "tests/runtime/comm/nccl/emulated/emulated_nccl.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {

class Rank {
 public:
  Rank(int rank, int ranks, ncclUniqueId id);
  ~Rank();

  // Both in the background, as Partita calls them.
  ncclResult_t Join() { return Join(rank, ranks); }
  ncclResult_t Join(int as, int of);
  ncclResult_t Finalize() { return Settled(api.ncclCommFinalize(comm)); }

  // Waits until a call is no longer in progress: what became of it.
  ncclResult_t Settled(ncclResult_t result);

  // Waits for an error in the background.
  ncclResult_t Error();

  // As above for a call on a stream; waits until its work has run.
  ncclResult_t Ran(ncclResult_t result);

  // Memory of the device.
  template <typename T>
  T* New(size_t count) {
    return static_cast<T*>(Allocate(count * sizeof(T)));
  }
  void Free(void* data);

  // The latest sentence.
  std::string Last() const { return api.ncclGetLastError(comm); }

  // Records what `enqueue` enqueues, for Launch; Replay waits for it as well.
  void Capture(const std::function<void()>& enqueue);
  void Launch();
  void Replay();
  void DropCapture();

  const int rank, ranks;
  const ncclUniqueId id;
  FakeCuda cuda;
  EmulatedNccl nccl{cuda};
  const NcclApi& api = nccl.api();
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;

 private:
  void* Allocate(size_t bytes);

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// Runs `body` in `ranks` new processes and expects that every one ends without a failure. When one fails, the others
// are killed.
void OnProcesses(int ranks, const std::function<void(Rank&)>& body);

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PROCESSES_H_
